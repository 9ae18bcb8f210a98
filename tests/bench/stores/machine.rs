//! What this process uses of the machine, as the kernel tells, and what stands out of many measurements.

use std::time::Duration;

/// CPU time so far. A tick is 10 ms on every Linux.
pub(crate) fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name in parentheses may hold spaces; user and system time are the 12th and 13th field after it.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    Duration::from_millis(10 * (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()))
}

/// Resident memory in KiB: `VmRSS` now, `VmHWM` at most.
pub(crate) fn memory(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Forgets what `VmHWM` was.
pub(crate) fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// The value below which this share of all lies.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // counts are small
    let place = (f64::from(u32::try_from(sorted.len() - 1).unwrap()) * share).round();
    let place = (0..sorted.len()).find(|at| f64::from(u32::try_from(*at).unwrap()) >= place).unwrap();
    sorted[place]
}
