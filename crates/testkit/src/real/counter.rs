//! Sets the counter from which a node numbers its sequential children, as if the node had been used for years.

use super::jvm::{class_path, java};
use super::server::Server;
use super::spawn::spawn;
use std::process::{Command, Stdio};

const HELPER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/helpers/WornCounter.java");

impl Server {
    /// Makes the next sequential child of `path` get this number. This kills and restarts the server.
    #[track_caller]
    pub fn set_counter(&self, path: &str, number: i32) {
        let conf = self.four_letter("conf");
        let data = super::four_letter::field(&conf, "dataDir=").expect("a data directory");
        let data = data.strip_suffix("/version-2").unwrap_or(data);
        self.kill();
        let mut java = Command::new(java());
        java.args(["-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp", &class_path(), HELPER, data, path])
            .arg(number.to_string())
            .stderr(Stdio::piped());
        let output = spawn(&mut java).wait_with_output().expect("our child");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.restart();
    }
}
