//! Prints what happens, line by line, if that is wanted.

#[derive(Debug)]
pub(crate) struct Story {
    tells: bool,
}

impl Story {
    pub(crate) fn new(tells: bool) -> Self {
        Self { tells }
    }

    pub(crate) fn tell(&self, now: u64, who: impl FnOnce() -> String) {
        if self.tells {
            #[allow(clippy::cast_precision_loss, reason = "for people")]
            let seconds = now as f64 / 1e9;
            println!("{seconds:10.4}  {}", who());
        }
    }
}
