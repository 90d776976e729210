//! Readers hold together, and a writer holds alone. Each waits only for contenders that came before it.

use super::{contender, end, queued, runs, wait_until_it_runs, wait_until_it_waits};
use crate::support::{Case, Running};

const READER: &[&str] = &["-s"];
const WRITER: &[&str] = &["-x"];

#[test]
fn readers_run_at_the_same_time() {
    let case = Case::new("readers");
    let readers: Vec<Running> = (0..3).map(|_| contender(&case, READER)).collect();
    readers.iter().for_each(wait_until_it_runs);
    assert!(readers.iter().all(Running::is_running));
    readers.into_iter().for_each(end);
}

#[test]
fn a_writer_waits_for_every_reader_before_it_in_whatever_order_they_leave() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let case = Case::new("writer");
        let mut readers: Vec<Option<Running>> = (1..=3).map(|n| Some(queued(&case, READER, n))).collect();
        readers.iter().flatten().for_each(wait_until_it_runs);
        let writer = contender(&case, WRITER);
        wait_until_it_waits(&writer);
        for index in order {
            assert!(!runs(&writer), "{order:?}");
            end(readers[index].take().unwrap());
        }
        wait_until_it_runs(&writer);
        end(writer);
    }
}

#[test]
fn readers_behind_a_writer_wait_for_it_and_then_run_together() {
    let case = Case::new("behind-writer");
    let first = contender(&case, READER);
    wait_until_it_runs(&first);
    let writer = contender(&case, WRITER);
    wait_until_it_waits(&writer);
    let readers: Vec<Running> = (0..3).map(|_| contender(&case, READER)).collect();
    readers.iter().for_each(wait_until_it_waits);
    end(first);
    wait_until_it_runs(&writer);
    assert!(!readers.iter().any(runs), "beside the writer");
    end(writer);
    readers.iter().for_each(wait_until_it_runs);
    readers.into_iter().for_each(end);
}

/// Only the writer blocked them.
#[test]
fn readers_behind_a_writer_that_gives_up_join_those_before_it() {
    let case = Case::new("writer-leaves");
    let first = queued(&case, READER, 1);
    wait_until_it_runs(&first);
    let writer = queued(&case, WRITER, 2);
    wait_until_it_waits(&writer);
    let readers: Vec<Running> = (0..2).map(|_| contender(&case, READER)).collect();
    readers.iter().for_each(wait_until_it_waits);
    end(writer);
    readers.iter().for_each(wait_until_it_runs);
    assert!(first.is_running());
    readers.into_iter().chain([first]).for_each(end);
}

#[test]
fn a_reader_between_two_writers_waits_for_the_first_and_stops_the_second() {
    let case = Case::new("between");
    let first = queued(&case, WRITER, 1);
    wait_until_it_runs(&first);
    let reader = queued(&case, READER, 2);
    let second = queued(&case, WRITER, 3);
    [&reader, &second].into_iter().for_each(wait_until_it_waits);
    end(first);
    wait_until_it_runs(&reader);
    assert!(!runs(&second));
    end(reader);
    wait_until_it_runs(&second);
    end(second);
}

#[test]
fn a_reader_that_does_not_wait_is_told_who_holds_and_not_which_writer_is_before_it() {
    let case = Case::new("who-holds");
    let reader = contender(&case, &["-s", "--label", "the reader"]);
    wait_until_it_runs(&reader);
    let writer = contender(&case, &["--label", "the writer"]);
    wait_until_it_waits(&writer);
    case.lock(&["-n", "-s"], ["true"]).run().assert_code(124).assert_stderr("(the reader)");
    end(reader);
    end(writer);
}

/// A reader that counted later writers would wait for a writer that waits for it.
#[test]
fn a_later_writer_is_nothing_to_a_reader_that_holds() {
    let case = Case::new("later-writer");
    let first = queued(&case, WRITER, 1);
    wait_until_it_runs(&first);
    let readers = [queued(&case, READER, 2), queued(&case, READER, 3)];
    let writers = [queued(&case, WRITER, 4), queued(&case, WRITER, 5)];
    writers.iter().for_each(wait_until_it_waits);
    end(first);
    readers.iter().for_each(wait_until_it_runs);
    let [earlier, later] = readers;
    end(later);
    assert!(!writers.iter().any(runs), "one reader still holds");
    end(earlier);
    let [earlier, later] = writers;
    wait_until_it_runs(&earlier);
    assert!(!runs(&later));
    end(earlier);
    wait_until_it_runs(&later);
    end(later);
}
