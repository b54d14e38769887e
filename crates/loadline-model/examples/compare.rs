//! Simulates and solves systems of the catalog under profiles of its suites, at several depths, and prints how far the two are
//! apart, worst first.
//!
//! ```text
//! cargo run --release -p loadline-model --example compare -- [--ios N] [--system PART] [--profile PART] [--depth N,N] [--set key=value]...
//! ```

use loadline_model::drive::DriveDescription;
use loadline_model::sim::{Arrival, Plan, Profile, Seed, Spread, Stream};
use loadline_model::system::SystemDescription;
use loadline_model::units::Bytes;
use loadline_model::{System, sim};
use std::path::{Path, PathBuf};
use std::time::Instant;

struct Arguments {
    ios: u64,
    system: String,
    profile: String,
    depths: Vec<u32>,
    settings: Vec<(String, String)>,
    explain: bool,
}

fn arguments() -> Arguments {
    let mut found = Arguments {
        ios: 20_000,
        system: String::new(),
        profile: String::new(),
        depths: vec![1, 4, 16, 32, 64],
        settings: Vec::new(),
        explain: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--explain" {
            found.explain = true;
            continue;
        }
        let value = words.next().expect("each argument has a value");
        match word.as_str() {
            "--ios" => found.ios = value.parse().expect("a number"),
            "--system" => found.system = value,
            "--profile" => found.profile = value,
            "--depth" => {
                let depths = value.split(',').map(|n| n.parse().expect("a number"));
                found.depths = depths.collect();
            }
            "--set" => {
                let (key, value) = value.split_once('=').expect("key=value");
                found.settings.push((key.to_owned(), value.to_owned()));
            }
            other => panic!("{other} is no argument"),
        }
    }
    found
}

fn catalog(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../python/loadline/catalog")
        .join(kind);
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the catalog is there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_stem()
        .expect("a name")
        .to_string_lossy()
        .into_owned()
}

fn system(path: &Path, settings: &[(String, String)]) -> Result<System, loadline_model::Error> {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let description = SystemDescription::from_toml(&text, settings)?;
    let drive = description.pool.as_ref().map(|pool| {
        let path = catalog("drives")
            .into_iter()
            .find(|path| name(path) == pool.drive)
            .expect("a drive of the catalog");
        DriveDescription::from_toml(&std::fs::read_to_string(path).expect("a readable file"))
            .expect("a drive")
    });
    System::new(description, drive.as_ref())
}

/// Shares in percent, sizes with a bare letter: what suites of the catalog write.
fn profiles() -> Vec<(String, Profile)> {
    let share = |value: &toml::Value| {
        let text = value.as_str().expect("text");
        text.trim_end_matches('%').parse::<f64>().expect("percent") / 100.0
    };
    let mut found = Vec::new();
    for path in catalog("suites") {
        let suite: toml::Table = std::fs::read_to_string(&path)
            .expect("a readable file")
            .parse()
            .expect("TOML");
        for profile in suite["profile"].as_array().expect("profiles") {
            let blocks = match &profile["block"] {
                toml::Value::String(size) => vec![(size.parse().expect("a size"), 1.0)],
                toml::Value::Table(sizes) => sizes
                    .iter()
                    .map(|(size, part)| {
                        (
                            size.parse()
                                .unwrap_or_else(|_| Bytes(size.parse().expect("bytes"))),
                            share(part),
                        )
                    })
                    .collect(),
                other => panic!("{other} is no block"),
            };
            let align = blocks
                .iter()
                .map(|block: &(Bytes, f64)| block.0)
                .min()
                .expect("a size");
            let profile_of = Profile {
                read_fraction: share(&profile["read"]),
                random_fraction: share(&profile["random"]),
                blocks,
                align,
                sequential_streams: 1,
                start: Bytes(0),
                working_set: Bytes(0),
                spread: Spread::Uniform,
            };
            found.push((
                profile["name"].as_str().expect("a name").to_owned(),
                profile_of,
            ));
        }
    }
    found
}

struct Row {
    what: String,
    iops: [f64; 2],
    read_ms: [f64; 2],
    write_ms: [f64; 2],
    note: String,
}

impl Row {
    fn error(&self) -> f64 {
        self.iops[1] / self.iops[0] - 1.0
    }
}

/// Simulates and solves a system under a profile with so many outstanding; the time of solving is added up.
fn compare(
    (label, system): (&str, &System),
    (name, profile): (&str, &Profile),
    depth: u32,
    arguments: &Arguments,
    solving: &mut (u32, f64),
) -> Result<Row, loadline_model::Error> {
    let largest = profile
        .blocks
        .iter()
        .map(|block| block.0.0)
        .max()
        .unwrap_or(1);
    let working_set = system
        .capacity()
        .map_or(1 << 40, |capacity| capacity / largest * largest);
    let streams = [Stream {
        profile: Profile {
            working_set: Bytes(working_set),
            ..profile.clone()
        },
        arrival: Arrival::outstanding(depth),
    }];
    let simulation = system.simulate(&streams, Plan::ios(arguments.ios), Seed(1))?;
    let components = simulation.components().to_vec();
    let outcome = simulation.finish();
    let begun = Instant::now();
    let solution = system.solve(&streams, depth)?;
    *solving = (solving.0 + 1, solving.1 + begun.elapsed().as_secs_f64());
    if arguments.explain {
        println!("{label} {name} x {depth}\n{}", solution.working);
    }
    let ms = |answers: &sim::Answers| answers.responses.mean_ns().unwrap_or(0.0) / 1e6;
    let used = |name: &str| solution.components.iter().find(|found| found.0 == name);
    let both = |component: &loadline_model::Component| {
        let simulated = component.utilisation(&outcome)?;
        let solved = used(&component.name).map_or(0.0, |found| found.1);
        Some(format!("{} {simulated:.2}/{solved:.2}", component.name))
    };
    let mut notes: Vec<_> = components.iter().filter_map(both).collect();
    if !outcome.steady {
        notes.push("not steady".into());
    }
    let at = solution.at.expect("closed loads have a point");
    Ok(Row {
        what: format!("{label:<18} {name:<24} {depth:>4}"),
        iops: [outcome.iops, at.throughput_per_s],
        read_ms: [ms(&outcome.reads), at.read_response_ns.unwrap_or(0.0) / 1e6],
        write_ms: [
            ms(&outcome.writes),
            at.write_response_ns.unwrap_or(0.0) / 1e6,
        ],
        note: notes.join(", "),
    })
}

fn main() {
    let arguments = arguments();
    let mut rows = Vec::new();
    let mut solving = (0, 0.0);
    let profiles = profiles();
    let profiles = profiles
        .iter()
        .filter(|(label, _)| label.contains(&arguments.profile));
    for path in catalog("systems") {
        let label = name(&path);
        if !label.contains(&arguments.system) {
            continue;
        }
        let system = match system(&path, &arguments.settings) {
            Ok(system) => system,
            Err(why) => {
                println!("{label}: {why}");
                continue;
            }
        };
        for (profile, asked) in profiles.clone() {
            for &depth in &arguments.depths {
                let (system, profile) = ((label.as_str(), &system), (profile.as_str(), asked));
                match compare(system, profile, depth, &arguments, &mut solving) {
                    Ok(row) => rows.push(row),
                    Err(why) => println!("{label} {}: {why}", profile.0),
                }
            }
        }
    }
    print(rows, solving);
}

fn print(mut rows: Vec<Row>, solving: (u32, f64)) {
    rows.sort_by(|a, b| b.error().abs().total_cmp(&a.error().abs()));
    println!(
        "{:<48} {:>9} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9}",
        "", "simulated", "solved", "error", "read ms", "solved", "write ms", "solved"
    );
    for row in &rows {
        println!(
            "{:<48} {:>9.0} {:>9.0} {:>+6.1}% {:>9.3} {:>9.3} {:>9.3} {:>9.3}  {}",
            row.what,
            row.iops[0],
            row.iops[1],
            100.0 * row.error(),
            row.read_ms[0],
            row.read_ms[1],
            row.write_ms[0],
            row.write_ms[1],
            row.note
        );
    }
    let within = rows.iter().filter(|row| row.error().abs() <= 0.1).count();
    let each = 1e3 * solving.1 / f64::from(solving.0.max(1));
    println!(
        "{within} of {} within 10 %; {each:.3} ms a solution",
        rows.len()
    );
}
