//! `fleet watch`: a batch until it has ended.

use std::time::{Duration, Instant};

use fleet::{Following, Overview, TaskName, ready_within};
use process::SignalPipe;
use tools::now_ms;
use tui::{Key, Keys, Painter, Size, fit, styled};

use super::{at_server, batch_name, no_batch, screen, status};
use crate::arguments::ServerArguments;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;
use crate::terminal::{self, Happened, Terminal};

/// How long it takes at most until a key or a signal is seen.
const LOOK: Duration = Duration::from_millis(100);
/// How often the screen is drawn.
const FRAME: Duration = Duration::from_millis(250);
/// How often a line is printed where there is no screen.
const LINE: Duration = Duration::from_secs(5);

pub(super) fn watch(
    batch: &str,
    server: &ServerArguments,
    printer: &mut Printer,
) -> Result<Exit, CommandError> {
    let batch = batch_name(batch)?;
    let mut signals = SignalPipe::for_quitting()
        .map_err(|error| CommandError::failure(format!("signals cannot be caught: {error}")))?;
    printer.listen_to(&signals);
    let printer = &*printer;
    at_server(server, printer, async |fleet| {
        let mut following = Following::begin(&fleet, &batch).await?;
        let mut overview = Overview::default();
        let mut view = View::open(printer);
        loop {
            // What has come is taken at once, and drawn together.
            let until = Instant::now() + LOOK;
            while Instant::now() < until
                && let Some(change) = ready_within(until, following.next()).await
            {
                let Some(change) = change else {
                    return Err(CommandError::failure("the connection to the server is lost"));
                };
                overview.apply(change?);
            }
            if !following.is_caught_up() {
                continue;
            }
            if overview.is_empty() {
                return Err(no_batch(&batch));
            }
            let is_over = overview.is_over();
            let is_left = view.is_left();
            let is_interrupted = signals.drain().next().is_some();
            view.show(&batch, &overview, is_over || is_left || is_interrupted);
            if is_over {
                let figures = overview.figures(now_ms());
                drop(view);
                printer.answer(&format!("{batch}: {}", status::line(&figures)))?;
                let is_good = figures.completed == figures.tasks;
                return Ok(if is_good { Exit::Completed } else { Exit::TaskFailed });
            }
            if is_left || is_interrupted {
                drop(view);
                printer.note("Stopped watching. The batch goes on.");
                return Ok(if is_left { Exit::Completed } else { Exit::Interrupted });
            }
        }
    })
}

/// Where the batch is shown.
struct View<'a> {
    printer: &'a Printer,
    /// On a terminal.
    drawing: Option<Drawing>,
    shown_at: Option<Instant>,
    last_line: String,
}

struct Drawing {
    terminal: Terminal,
    size: Size,
    keys: Keys,
    painter: Painter,
}

impl<'a> View<'a> {
    fn open(printer: &'a Printer) -> View<'a> {
        let drawing = printer.can_draw.then(Terminal::open).flatten().and_then(|terminal| {
            let size = terminal::size()?;
            Some(Drawing { terminal, size, keys: Keys::default(), painter: Painter::default() })
        });
        View { printer, drawing, shown_at: None, last_line: String::new() }
    }

    /// Whether the user has stopped watching.
    fn is_left(&mut self) -> bool {
        let Some(Drawing { terminal, size, keys, painter }) = &mut self.drawing else {
            return false;
        };
        let printer = self.printer;
        let happened = terminal.happened(|| {
            printer.frame(&painter.erase());
        });
        let mut is_left = false;
        for happened in happened {
            match happened {
                Happened::Typed(bytes) => {
                    is_left |= keys.read(&bytes).contains(&Key::Character('q'));
                }
                Happened::Resized => {
                    *size = terminal::size().unwrap_or(*size);
                    painter.lose();
                }
                Happened::Returned => {
                    *size = terminal::size().unwrap_or(*size);
                    *painter = Painter::default();
                }
            }
        }
        is_left
    }

    fn show(&mut self, batch: &TaskName, overview: &Overview, is_last: bool) {
        let pause = if self.drawing.is_some() { FRAME } else { LINE };
        if self.shown_at.is_some_and(|at| at.elapsed() < pause) && !is_last {
            return;
        }
        self.shown_at = Some(Instant::now());
        let figures = overview.figures(now_ms());
        match &mut self.drawing {
            Some(drawing) if drawing.terminal.is_away => {}
            Some(Drawing { size, painter, .. }) => {
                let rows = screen::rows(batch, &figures, size.columns);
                let rows = rows.into_iter().take(size.rows.saturating_sub(1));
                let rows = rows.map(|row| styled(&fit(row, size.columns), self.printer.palette));
                let frame = painter.paint(rows.collect());
                if !self.printer.frame(&frame) {
                    painter.lose();
                }
            }
            None => {
                let line = format!("{batch}: {}", status::line(&figures));
                if line != self.last_line && !is_last {
                    self.printer.note(&line);
                    self.last_line = line;
                }
            }
        }
    }
}

impl Drop for View<'_> {
    fn drop(&mut self) {
        if let Some(drawing) = &mut self.drawing {
            self.printer.frame(&drawing.painter.erase());
        }
    }
}
