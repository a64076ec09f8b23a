//! A host of its own that can drop off the network: a network namespace whose packets go nowhere for a while.

use std::process::{Command, Stdio};

/// A network namespace, joined to this one by a pair of interfaces. Removed with the value.
pub(crate) struct Island {
    pub(crate) name: String,
    here: String,
    there: String,
    /// The first three parts of the addresses; .1 is here and .2 is there.
    pub(crate) net: String,
}

impl Island {
    /// `None` where that is not allowed, or there is no `ip`. Each place in this executable that makes one gives it a number of its own,
    /// from 0 to 3: the tests may share a process.
    pub(crate) fn create(number: u32) -> Option<Self> {
        let pid = std::process::id();
        let island = Self {
            name: format!("pgrelay-{pid}-{number}"),
            here: format!("pgr{pid}a{number}"),
            there: format!("pgr{pid}b{number}"),
            // Process ids that run at the same time differ in their lower bits.
            net: format!("10.{}.{}", 128 + pid % 128, ((pid / 128) % 64) * 4 + number),
        };
        let Self {
            name,
            here,
            there,
            net,
        } = &island;
        let steps = [
            format!("netns add {name}"),
            format!("link add {here} type veth peer name {there} netns {name}"),
            format!("address add {net}.1/30 dev {here}"),
            format!("link set {here} up"),
            format!("-n {name} address add {net}.2/30 dev {there}"),
            format!("-n {name} link set {there} up"),
        ];
        steps.iter().all(|step| ip(step)).then_some(island)
    }

    /// Every packet from now on goes to a station that does not exist, and nobody is told.
    pub(crate) fn cut(&self) {
        let nowhere = "lladdr 02:00:00:00:00:01 nud permanent";
        let Self {
            name,
            here,
            there,
            net,
        } = self;
        assert!(ip(&format!(
            "neighbour replace {net}.2 {nowhere} dev {here}"
        )));
        assert!(ip(&format!(
            "-n {name} neighbour replace {net}.1 {nowhere} dev {there}"
        )));
    }

    pub(crate) fn mend(&self) {
        let Self {
            name,
            here,
            there,
            net,
        } = self;
        assert!(ip(&format!("neighbour delete {net}.2 dev {here}")));
        assert!(ip(&format!(
            "-n {name} neighbour delete {net}.1 dev {there}"
        )));
    }
}

impl Drop for Island {
    fn drop(&mut self) {
        // The interfaces go with it.
        ip(&format!("netns delete {}", self.name));
        ip(&format!("link delete {}", self.here));
    }
}

fn ip(arguments: &str) -> bool {
    let mut command = Command::new("ip");
    command.args(arguments.split(' ')).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
