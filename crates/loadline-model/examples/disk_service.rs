//! How far the solver's service times of disks are off the simulator, for every drive of a catalog, and what they cost.
//!
//! `cargo run --release -p loadline-model --example disk_service -- DRIVES [IOS]`, with a folder of drive files.

use loadline_model::device::disk::service::{Access, Kind, Load, Place, service};
use loadline_model::device::disk::{Disk, DiskNode, Model, Options, Waiting};
use loadline_model::drive::{DriveDescription, Scheduling};
use loadline_model::sim::{
    self, Arrival, Engine, Network, Node, NodeId, Plan, Profile, Run, Seed, Stop, Stream, Warmup,
};
use loadline_model::units::{Bytes, Time};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const QUEUED: [u32; 6] = [1, 2, 4, 8, 16, 32];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ios = arguments.get(1).map_or(Ok(20_000), |text| text.parse());
    let (Some(folder), Ok(ios)) = (arguments.first(), ios) else {
        eprintln!("usage: disk_service DRIVES [IOS]");
        std::process::exit(2);
    };
    if let Err(why) = compare(Path::new(folder), ios) {
        eprintln!("{why}");
        std::process::exit(2);
    }
}

fn drives(folder: &Path) -> Result<Vec<(String, Arc<Model>)>, String> {
    let entries =
        std::fs::read_dir(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "toml"));
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
            let text = std::fs::read_to_string(path).map_err(|why| failed(&why))?;
            let drive = DriveDescription::from_toml(&text).map_err(|why| failed(&why))?;
            let model = Model::new(&drive).map_err(|why| failed(&why))?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            Ok((name.into_owned(), Arc::new(model)))
        })
        .collect()
}

/// Errors in percent, of one row of the table.
#[derive(Default)]
struct Errors {
    squares: f64,
    count: u32,
    worst: (f64, String),
}

impl Errors {
    fn add(&mut self, percent: f64, what: impl FnOnce() -> String) {
        self.squares += percent * percent;
        self.count += 1;
        if percent.abs() > self.worst.0.abs() {
            self.worst = (percent, what());
        }
    }

    fn print(&self, row: &str, spent: Duration) {
        println!(
            "{row:<34} {:>6} {:>8.0} {:>6.2} {:>+7.2}  {}",
            self.count,
            spent.as_secs_f64() * 1e6 / f64::from(self.count),
            (self.squares / f64::from(self.count)).sqrt(),
            self.worst.0,
            self.worst.1
        );
    }
}

fn compare(folder: &Path, ios: u64) -> Result<(), String> {
    let drives = drives(folder)?;
    println!("error of mean service times against the simulator, %; {ios} I/Os a point");
    println!("{:<34} {:>6} {:>6} {:>7}", "load", "points", "rms", "worst");
    for (pattern, random, reads) in [
        ("random reads", 1.0, 1.0),
        ("random writes", 1.0, 0.0),
        ("random, 67 % reads", 1.0, 0.67),
        ("sequential reads", 0.0, 1.0),
        ("sequential writes", 0.0, 0.0),
    ] {
        for scheduling in [Scheduling::Fifo, Scheduling::CLook, Scheduling::Sptf] {
            let mut errors = Errors::default();
            let mut spent = Duration::ZERO;
            for (name, model) in &drives {
                for bytes in [4096, 65_536, 1 << 20] {
                    for share in [1.0, 0.25, 0.1] {
                        let options = Options {
                            scheduling: Some(scheduling),
                            ..Options::default()
                        };
                        let profile = profile(model, bytes, share, random, reads);
                        let begin = Instant::now();
                        let times = service(model, &options, &load(&profile), &QUEUED);
                        spent += begin.elapsed();
                        for (queued, time) in QUEUED.into_iter().zip(times) {
                            let simulated = simulate(model, &options, &profile, queued, ios)?;
                            let percent = 100.0 * (time.mean_ns / simulated - 1.0);
                            errors.add(percent, || {
                                format!("{name}, {} of {share}, {queued} outstanding", Bytes(bytes))
                            });
                        }
                    }
                }
            }
            errors.print(&format!("{pattern}, {scheduling:?}"), spent);
        }
    }
    Ok(())
}

fn profile(model: &Model, bytes: u64, share: f64, random: f64, reads: f64) -> Profile {
    let span = (model.sectors() as f64 * 512.0 * share) as u64 / bytes * bytes;
    Profile {
        random_fraction: random,
        read_fraction: reads,
        ..Profile::random_reads(Bytes(bytes), Bytes(span))
    }
}

fn load(profile: &Profile) -> Load {
    let access = |kind, weight| Access {
        weight,
        kind,
        bytes: profile.blocks[0].0.0 as u32,
        place: if profile.random_fraction > 0.0 {
            Place::Random
        } else {
            Place::Ascending { streams: 1, gap: 0 }
        },
        background: false,
    };
    let mut accesses = vec![
        access(Kind::Read, profile.read_fraction),
        access(Kind::Write, 1.0 - profile.read_fraction),
    ];
    accesses.retain(|access| access.weight > 0.0);
    Load {
        accesses,
        chunk: 0,
        span: 0..profile.working_set.0,
        zones: Vec::new(),
        streams: 1,
        turnaround: Time::ZERO,
    }
}

/// Mean time between answers, ns.
fn simulate(
    model: &Arc<Model>,
    options: &Options,
    profile: &Profile,
    queued: u32,
    ios: u64,
) -> Result<f64, String> {
    let disk = Disk::new(Arc::clone(model), options);
    let node = Node::Disk(Box::new(DiskNode::new(disk, Waiting::FirstCome)));
    let path = vec![(Stop::At(NodeId::new(0)), sim::Load::Access)];
    let engine = Engine::new(vec![node], Network::new(vec![path], Seed(2)));
    let stream = Stream {
        profile: profile.clone(),
        arrival: Arrival::outstanding(queued),
    };
    let plan = Plan {
        // The buffer is full then, and a stream still in its first zone.
        warmup: Warmup::Span(Time::from_ns(5_000_000_000)),
        ..Plan::ios(if profile.random_fraction > 0.0 {
            ios
        } else {
            1000
        })
    };
    let run = Run::new(engine, &[stream], plan, Seed(2));
    let outcome = run.map_err(|why| why.to_string())?.finish();
    Ok(1e9 / outcome.iops)
}
