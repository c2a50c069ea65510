//! What incidents cost the run, as text.

use callgrove_causes::Incident;
use callgrove_model::DurationNs;

use super::RunCauses;

/// Divisor of the run: what is less than a two-thousandth of it is nothing.
const NOTHING: i64 = 2_000;

impl RunCauses {
    /// Returns what an incident did to the run, in short: `run 53 ms longer`. `None` if that is not known.
    pub fn run_with(&self, incident: &Incident) -> Option<String> {
        let lost = incident.lost_run_time?;
        Some(match self.percent_of_run(lost) {
            None => "run no longer".to_owned(),
            Some(_) => format!("run {} longer", lost.to_two_digits()),
        })
    }

    /// Returns how the run would be without an incident: `about 53 ms (1.2 %) shorter`. `None` if that is not known.
    pub fn run_without(&self, incident: &Incident) -> Option<String> {
        Some(self.shorter(incident.lost_run_time?))
    }

    /// Returns how the run would be without all incidents that name a fault: `Without the 32 incidents that name a fault
    /// the run would be about 1.6 s (33.4 %) shorter.` `None` without one, and if it is not known.
    pub fn run_without_faults(&self) -> Option<String> {
        let lost = self.found().lost_run_time()?;
        let is_taken_out = |it: &&Incident| it.kind.names_a_fault() && it.unentered.is_none();
        let faults = self.incidents().iter().filter(is_taken_out);
        let incidents = match faults.count() {
            1 => "incident that names".to_owned(),
            count => format!("{count} incidents that name"),
        };
        let shorter = self.shorter(lost);
        Some(format!(
            "Without the {incidents} a fault the run would be {shorter}."
        ))
    }

    fn shorter(&self, lost: DurationNs) -> String {
        match self.percent_of_run(lost) {
            None => "as long".to_owned(),
            Some(percent) => format!("about {} ({percent:.1} %) shorter", lost.to_two_digits()),
        }
    }

    /// Returns the share of the run, if it is more than nothing.
    fn percent_of_run(&self, lost: DurationNs) -> Option<f64> {
        let run = self.found().run_length();
        let is_much = lost.0.saturating_mul(NOTHING) >= run.0 && lost > DurationNs::ZERO;
        is_much.then(|| 100.0 * lost.as_secs_f64() / run.as_secs_f64())
    }
}
