//! Where a fault of the wires is.

use crate::fault::Draw;
use crate::support::{Fault, Rng};

/// Between whom packets are lost, or which machine is hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Hosts and all servers.
    Hosts,
    /// Hosts and one server.
    HostsAndServer,
    /// The leader and every other machine.
    Leader,
    /// The leader and the other servers.
    LeaderAndServers,
    /// A follower and every other machine.
    Follower,
    /// A follower and the other servers.
    FollowerAndServers,
    /// Two followers.
    Followers,
    /// One half of all machines and the other.
    Halves,
}

const WEIGHTS: [(usize, Place); 8] = [
    (16, Place::Hosts),
    (4, Place::HostsAndServer),
    (2, Place::Leader),
    (3, Place::LeaderAndServers),
    (1, Place::Follower),
    (3, Place::FollowerAndServers),
    (1, Place::Followers),
    (2, Place::Halves),
];

/// In which direction packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the first side to the second.
    There,
    Back,
    Both,
}

impl Place {
    /// The place of a drawn fault.
    pub(crate) fn of(draw: &Draw) -> Self {
        rng(draw).weighted(&WEIGHTS)
    }

    /// Whether servers miss packets of each other.
    pub(crate) fn is_ensemble(self) -> bool {
        !matches!(self, Self::Hosts | Self::HostsAndServer)
    }
}

impl Direction {
    pub(super) fn of(fault: Fault, rng: &mut Rng) -> Self {
        let drawn = rng.pick(&[Self::There, Self::Back, Self::Both, Self::Both]);
        // A NAT that has forgotten a connection passes neither direction.
        if fault == Fault::ForgetConnections { Self::Both } else { drawn }
    }
}

/// What else is drawn for a fault.
pub(super) fn details(draw: &Draw) -> Rng {
    let mut rng = rng(draw);
    rng.number();
    rng
}

fn rng(draw: &Draw) -> Rng {
    Rng::new(u64::try_from(draw.choice).expect("64 bits"))
}
