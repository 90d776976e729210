//! A server that never stops talking.

use super::attacked::Attacked;
use super::attacker::{Attacker, SESSION, TIMEOUT_MS};
use super::wire::Bytes;

/// The client does nothing but read then, and would not notice that its time is over. It keeps what it
/// reads.
#[test]
fn endless_events_instead_of_answers_end_in_time() {
    let event = Bytes::default().int(-1).long(7).int(0).int(3).int(3).buffer(b"/t/hostile/x").packet();
    let attacker = Attacker::new(move |mut victim| {
        victim.grant(TIMEOUT_MS, SESSION);
        // Until the victim hangs up.
        while victim.send(&event.repeat(1000)).is_ok() {}
    });
    Attacked::by(attacker.address()).at_any_cost().fails();
}
