//! Prints what happens, line by line, if that is wanted.

#[derive(Debug)]
pub(crate) struct Trace {
    prints: bool,
}

impl Trace {
    pub(crate) fn new(prints: bool) -> Self {
        Self { prints }
    }

    pub(crate) fn print(&self, now: u64, who: impl FnOnce() -> String) {
        if self.prints {
            #[allow(clippy::cast_precision_loss, reason = "for people")]
            let seconds = now as f64 / 1e9;
            println!("{seconds:10.4}  {}", who());
        }
    }
}
