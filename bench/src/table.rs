//! The report of a benchmark.

/// Figures beside what they are measured against.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

#[derive(Debug, Default)]
struct Row {
    what: String,
    ours: String,
    reference: String,
    ratio: String,
    limit: String,
    is_met: Option<bool>,
}

impl Table {
    /// Adds a figure that must be at most `limit` times that of the reference.
    pub(crate) fn at_most(
        &mut self,
        what: &str,
        ours: (f64, &str),
        reference: (f64, &str),
        limit: f64,
    ) {
        let ratio = ours.0 / reference.0;
        let row = self.add(what, ours.1, reference.1);
        row.ratio = format!("{ratio:.2}");
        row.limit = format!("<= {limit}");
        row.is_met = Some(ratio <= limit);
    }

    /// Adds a figure that the reference must exceed at least `limit` times.
    pub(crate) fn times_less(
        &mut self,
        what: &str,
        ours: (f64, &str),
        reference: (f64, &str),
        limit: f64,
    ) {
        let times = reference.0 / ours.0;
        let row = self.add(what, ours.1, reference.1);
        row.ratio = format!("{times:.1} x less");
        row.limit = format!(">= {limit} x less");
        row.is_met = Some(times >= limit);
    }

    /// Adds the memory of a process, which must be small whatever the process does.
    pub(crate) fn memory(&mut self, what: &str, peak_kib: u64) {
        let megabytes = peak_kib as f64 * 1024.0 / 1e6;
        self.at_most(what, (megabytes, &format!("{megabytes:.1} MB")), (20.0, "20 MB"), 1.0);
    }

    /// Adds a figure that has no limit of its own.
    pub(crate) fn note(&mut self, what: &str, ours: &str, reference: &str) {
        self.add(what, ours, reference);
    }

    fn add(&mut self, what: &str, ours: &str, reference: &str) -> &mut Row {
        let [what, ours, reference] = [what, ours, reference].map(str::to_owned);
        self.rows.push_mut(Row { what, ours, reference, ..Row::default() })
    }

    /// All rows, in Markdown.
    pub(crate) fn text(&self) -> String {
        let mut text =
            "| what | ours | reference | ratio | limit | |\n|---|---|---|---|---|---|\n".to_owned();
        for row in &self.rows {
            let verdict = match row.is_met {
                Some(true) => "met",
                Some(false) => "MISSED",
                None => "",
            };
            text.push_str(&format!(
                "| {} | {} | {} | {} | {} | {verdict} |\n",
                row.what, row.ours, row.reference, row.ratio, row.limit
            ));
        }
        text
    }

    /// The limits that are not met.
    pub(crate) fn missed(&self) -> impl Iterator<Item = &str> {
        let missed = self.rows.iter().filter(|row| row.is_met == Some(false));
        missed.map(|row| row.what.as_str())
    }
}
