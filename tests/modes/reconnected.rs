//! A waiter without a connection misses nothing that happens in the queue meanwhile.

use super::{contender, end, queued, runs, wait_until_it_runs, wait_until_it_waits};
use crate::support::{At, Case, DEADLINE, Proxy, Running, op, shared};

const TWO: &[&str] = &["--slots", "2"];

/// Queues a waiter behind this proxy at this position.
fn behind_proxy(case: &Case, proxy: &Proxy, options: &[&str], place: usize) -> Running {
    let hosts = proxy.connect_string();
    let one = queued(case, &[&["-z", &hosts], options].concat(), place);
    wait_until_it_waits(&one);
    one
}

fn two_holders(case: &Case) -> [Running; 2] {
    let holders = [queued(case, TWO, 1), queued(case, TWO, 2)];
    holders.iter().for_each(wait_until_it_runs);
    holders
}

/// Cuts all connections. New ones transmit nothing until the proxy lets data pass.
fn cut_off(proxy: &Proxy) {
    proxy.blackhole();
    proxy.cut_all();
}

#[test]
fn a_slot_that_becomes_free_meanwhile_goes_to_the_first_waiter() {
    let proxy = Proxy::to(shared());
    let case = Case::new("slot-meanwhile");
    let [one, other] = two_holders(&case);
    let first = behind_proxy(&case, &proxy, TWO, 3);
    cut_off(&proxy);
    end(other);
    proxy.pass();
    wait_until_it_runs(&first);
    [one, first].into_iter().for_each(end);
}

#[test]
fn a_waiter_that_misses_its_predecessor_s_slot_still_gets_the_next() {
    let proxy = Proxy::to(shared());
    let case = Case::new("slots-meanwhile");
    let [one, other] = two_holders(&case);
    let first = queued(&case, TWO, 3);
    wait_until_it_waits(&first);
    let second = behind_proxy(&case, &proxy, TWO, 4);
    cut_off(&proxy);
    end(one);
    wait_until_it_runs(&first);
    end(other);
    proxy.pass();
    wait_until_it_runs(&second);
    [first, second].into_iter().for_each(end);
}

/// The write that announces a slot is lost, or the answer to it.
#[test]
fn a_holder_that_could_not_publish_its_slot_at_once_does_so_later() {
    for at in [At::BeforeServer, At::BeforeReply] {
        let proxy = Proxy::to(shared());
        let case = Case::new("slot-said");
        let [one, other] = two_holders(&case);
        let first = behind_proxy(&case, &proxy, TWO, 3);
        let second = queued(&case, TWO, 4);
        wait_until_it_waits(&second);
        proxy.once(op::SET_DATA, at);
        end(one);
        wait_until_it_runs(&first);
        proxy.wait_fired(1, DEADLINE);
        end(other);
        wait_until_it_runs(&second);
        [first, second].into_iter().for_each(end);
    }
}

#[test]
fn readers_run_when_they_are_back_and_a_writer_only_if_no_reader_is_left() {
    let proxy = Proxy::to(shared());
    let case = Case::new("readers-meanwhile");
    let first = queued(&case, &[], 1);
    wait_until_it_runs(&first);
    let readers = [behind_proxy(&case, &proxy, &["-s"], 2), behind_proxy(&case, &proxy, &["-s"], 3)];
    let writer = behind_proxy(&case, &proxy, &[], 4);
    cut_off(&proxy);
    end(first);
    proxy.pass();
    readers.iter().for_each(wait_until_it_runs);
    assert!(!runs(&writer));
    let [earlier, later] = readers;
    cut_off(&proxy);
    // Both readers end without a connection, and need one for their release.
    later.signal(nix::sys::signal::Signal::SIGTERM);
    proxy.pass();
    later.wait(DEADLINE).assert_signal(nix::sys::signal::Signal::SIGTERM);
    assert!(!runs(&writer));
    end(earlier);
    wait_until_it_runs(&writer);
    end(writer);
    let last = contender(&case, &["-s"]);
    wait_until_it_runs(&last);
    end(last);
}
