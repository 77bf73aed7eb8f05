//! The bytes of a capture: from a file, a pipe, or a file that grows.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write as _};
use std::path::Path;
use std::rc::Rc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time between checks whether a file has grown.
const PAUSE: Duration = Duration::from_millis(100);

/// Size below which a file is read before a progress bar would be seen, in bytes.
const SMALL: u64 = 16 << 20;

/// The reader of a capture. Clones of its [`Progress`] tell how far it is.
pub(crate) struct CaptureInput {
    source: ByteSource,
    progress: Progress,
    bar: Option<ProgressBar>,
    /// Output to print when no more bytes are available; `None` unless the input is followed.
    pending: Option<Rc<RefCell<Option<String>>>>,
}

enum ByteSource {
    File(File),
    Pipe(io::Stdin),
}

/// Progress of reading a capture.
#[derive(Clone)]
pub(crate) struct Progress {
    read: Rc<Cell<u64>>,
    /// Length of the file, which may grow; `None` for a pipe.
    length: Rc<Cell<Option<u64>>>,
    began: Instant,
}

impl CaptureInput {
    /// Opens a file; `-` is standard input.
    pub(crate) fn open(path: &Path) -> Result<Self, Box<dyn Error>> {
        let (source, length) = if path == Path::new("-") {
            (ByteSource::Pipe(io::stdin()), None)
        } else {
            let failed = |error: io::Error| format!("{}: {error}", path.display());
            let file = File::open(path).map_err(failed)?;
            let about = file.metadata().map_err(failed)?;
            if about.is_dir() {
                return Err(format!("{}: this is a folder, not a capture", path.display()).into());
            }
            let length = about.is_file().then_some(about.len());
            (ByteSource::File(file), length)
        };
        let progress = Progress {
            read: Rc::default(),
            length: Rc::new(Cell::new(length)),
            began: Instant::now(),
        };
        Ok(Self { source, progress, bar: None, pending: None })
    }

    /// Draws a progress bar if standard error is a terminal and the file is large.
    pub(crate) fn with_bar(mut self) -> Self {
        if let Some(length) = self.progress.length.get()
            && length > SMALL
            && io::stderr().is_terminal()
        {
            let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
            let form = "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
            self.bar = Some(match ProgressStyle::with_template(form) {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            });
        }
        self
    }

    /// Waits for more bytes at the end, and prints `pending` first.
    pub(crate) fn following(mut self, pending: Rc<RefCell<Option<String>>>) -> Self {
        self.pending = Some(pending);
        self
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    fn read_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.source {
            ByteSource::File(file) => file.read(buffer),
            ByteSource::Pipe(pipe) => pipe.read(buffer),
        }
    }

    /// Prints pending output and waits; returns whether more bytes may come.
    fn wait(&mut self) -> io::Result<bool> {
        let Some(pending) = &self.pending else { return Ok(false) };
        if let Some(text) = pending.take() {
            let mut out = io::stdout();
            out.write_all(text.as_bytes())?;
            out.flush()?;
        }
        let ByteSource::File(file) = &self.source else { return Ok(false) };
        sleep(PAUSE);
        let length = file.metadata()?.len();
        self.progress.length.set(Some(length));
        // A file that has become shorter was truncated or replaced.
        Ok(length >= self.progress.read.get())
    }
}

impl Read for CaptureInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.read_some(buffer)?;
            self.progress.read.set(self.progress.read.get() + count as u64);
            if let Some(bar) = &self.bar {
                bar.set_position(self.progress.read.get());
            }
            if count > 0 || buffer.is_empty() || !self.wait()? {
                return Ok(count);
            }
        }
    }
}

impl Drop for CaptureInput {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Progress {
    /// Returns the bytes per second so far.
    pub(crate) fn speed(&self) -> f64 {
        self.read.get() as f64 / self.began.elapsed().as_secs_f64().max(1e-9)
    }

    /// Returns whether no byte was read.
    pub(crate) fn is_nothing(&self) -> bool {
        self.read.get() == 0
    }

    /// Returns whether the file was read up to its current end.
    pub(crate) fn is_at_end(&self) -> bool {
        self.length.get().is_none_or(|length| self.read.get() >= length)
    }
}
