//! What work costs this process: wall time, CPU time of all its threads, resident memory.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The cost of each repetition of one kind of work.
#[derive(Default)]
pub(crate) struct Cost {
    wall: Vec<Duration>,
    cpu: Vec<Duration>,
}

impl Cost {
    pub(crate) fn measure<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (cpu, began) = (cpu(), Instant::now());
        let answer = work();
        self.wall.push(began.elapsed());
        self.cpu.push(self::cpu().saturating_sub(cpu));
        answer
    }

    /// Milliseconds of wall time, the median.
    pub(crate) fn wall(&self) -> f64 {
        median(self.wall.iter().map(Duration::as_secs_f64).collect()) * 1e3
    }

    /// Milliseconds of CPU time, the median.
    pub(crate) fn cpu(&self) -> f64 {
        median(self.cpu.iter().map(Duration::as_secs_f64).collect()) * 1e3
    }

    /// Medians of the ratios to what was measured beside it, repetition by repetition: wall, CPU.
    pub(crate) fn over(&self, bare: &Self) -> (f64, f64) {
        let ratio = |mine: &[Duration], other: &[Duration]| {
            median(mine.iter().zip(other).map(|(mine, other)| mine.as_secs_f64() / other.as_secs_f64()).collect())
        };
        (ratio(&self.wall, &bare.wall), ratio(&self.cpu, &bare.cpu))
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn cpu() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.try_into().unwrap(), spent.tv_nsec.try_into().unwrap())
}

/// Resident memory in KiB.
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
