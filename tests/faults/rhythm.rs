//! How often a zklock sends confirmations.

use super::holder::confirmations;
use crate::support::{Case, DEADLINE, Proxy, Zklock, end, holder, shared, wait_until};

#[test]
fn the_first_waiter_confirms_twice_as_often_as_the_others() {
    let (first, second) = (Proxy::to(shared()), Proxy::to(shared()));
    let case = Case::new("rhythm").through(&first.connect_string());
    let options = ["-v", "--session-timeout", "8"];
    let holder = holder(&case, &options);
    let waiter = Zklock::at(&second.connect_string(), case.marker()).args(options);
    let waiter = waiter.args([case.path(), "--", "true"]).spawn();
    waiter.wait_for_line(": position ", DEADLINE);
    let confirmed = || [&first, &second].map(|link| confirmations([link]));
    // On a busy machine the holder may be late.
    let mut rounds = (0..4).map(|_| {
        let [holders, waiters] = confirmed();
        wait_until("four confirmations of the waiter", DEADLINE, || confirmed()[1] >= waiters + 4);
        // Eight, if the answers take no time: the holder sends one every twelfth of the session timeout, the waiter
        // every sixth.
        confirmed()[0] - holders
    });
    assert!(rounds.any(|holders| holders >= 6), "the holder confirms as seldom as the waiter");
    end(holder);
    waiter.wait(DEADLINE).assert_code(0);
}
