//! How faults of servers, processes and nodes are injected. Those of the network are injected by its
//! [`wires`](crate::wires).

use crate::contender::Contender;
use crate::fault::Draw;
use crate::injector::{Injected, Injector, Undo};
use crate::support::{Fault, Target};
use std::sync::Arc;

impl<'a> Injector<'a> {
    /// Injects the fault, if its target exists.
    pub(crate) fn inject(
        &self,
        draw: &Draw,
        met: Option<&Arc<Contender>>,
        hosts: &[usize],
    ) -> Option<Injected<'a>> {
        match (draw.fault.target(), draw.fault) {
            (Target::Node, _) => self.inject_into_node(draw, met),
            (Target::Processes, _) => self.inject_into_processes(draw, met),
            (_, Fault::FreezeLeader | Fault::FreezeFollower | Fault::FreezeFollowers | Fault::FreezeAll) => {
                self.freeze(draw)
            }
            (_, Fault::KillLeader | Fault::KillFollower) => self.kill(draw),
            _ => self.wires.inject(self, draw, hosts),
        }
    }

    fn freeze(&self, draw: &Draw) -> Option<Injected<'a>> {
        let (leader, follower) = self.leader_and_follower(draw)?;
        let servers = 0..self.wires.servers().len();
        let frozen: Vec<_> = match draw.fault {
            Fault::FreezeLeader => vec![leader],
            Fault::FreezeFollower => vec![follower],
            Fault::FreezeFollowers => servers.filter(|&id| id != leader).collect(),
            _ => servers.collect(),
        };
        for &server in &frozen {
            self.wires.servers()[server].freeze();
        }
        let target = format!("servers {frozen:?}, the leader is {leader}");
        Some(Injected { target, undo: Some(Undo::Thaw(frozen)) })
    }

    fn kill(&self, draw: &Draw) -> Option<Injected<'a>> {
        let (leader, follower) = self.leader_and_follower(draw)?;
        let server = if draw.fault == Fault::KillLeader { leader } else { follower };
        self.wires.servers()[server].kill();
        let target = format!("server {server}, the leader is {leader}");
        Some(Injected { target, undo: Some(Undo::Relaunch(server)) })
    }

    /// The leader and one of the others. `None` if there is no leader at the moment.
    pub(crate) fn leader_and_follower(&self, draw: &Draw) -> Option<(usize, usize)> {
        let (leader, servers) = (self.leader()?, self.wires.servers().len());
        Some((leader, (leader + 1 + draw.choice % (servers - 1)) % servers))
    }

    fn inject_into_processes(&self, draw: &Draw, met: Option<&Arc<Contender>>) -> Option<Injected<'a>> {
        // Its second part comes when the first one is undone.
        let fault = match draw.fault {
            Fault::StopWorkerThenMonitor => Fault::StopWorker,
            fault => fault,
        };
        let target = met.cloned().or_else(|| self.target(draw, fault))?;
        let name = target.name().to_owned();
        target.apply(fault).then(|| {
            let undo = match draw.fault {
                Fault::StopWorkerThenMonitor => Some(Undo::ResumeAndStopMonitor(target)),
                _ => fault.stops_a_process().then_some(Undo::Resume(target)),
            };
            Injected { target: name, undo }
        })
    }
}
