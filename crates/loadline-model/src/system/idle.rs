//! Keys that change nothing in a system as it is described: what they set isn't there, or isn't used.

use super::description::{Battery, Cache, CacheMode, SystemDescription};
use crate::Error;
use crate::layout::Kind;
use crate::units::Time;

/// What only a cache that holds back writes uses.
const OF_WRITING_BACK: &[&str] = &[
    "cache.destage_depth",
    "cache.destage_order",
    "cache.full_stripes_first",
    "cache.high_water",
    "cache.low_water",
    "cache.mirror_link",
    "cache.mirrored",
];

/// What else only a cache uses that is on.
const OF_CACHING: &[&str] = &[
    "cache.battery",
    "cache.page",
    "cache.read",
    "cache.read_ahead",
    "cache.shared",
    "cache.streams",
    "cache.write",
];

/// Keys, and the reason why they change nothing.
struct Idle(Vec<(&'static str, String)>);

impl Idle {
    fn unless(&mut self, used: bool, keys: &[&'static str], why: &str) {
        if !used {
            self.0.extend(keys.iter().map(|&key| (key, why.to_owned())));
        }
    }
}

impl SystemDescription {
    /// Keys, or whole tables, whose values change nothing as the others are, each with the reason. Whether the file states them
    /// is of no account: a file may well state what only some sweep makes use of.
    pub fn idle(&self) -> Vec<(&'static str, String)> {
        let mut idle = Idle(Vec::new());
        if !self.station.is_empty() {
            let tables = [
                "hosts",
                "controller",
                "cache",
                "backend",
                "pool",
                "volume",
                "rule",
            ];
            idle.unless(false, &tables, "queueing stations are all that there is");
            return idle.0;
        }
        let linked = self.hosts.as_ref().is_none_or(|it| it.link.is_some());
        let keys = ["hosts.count", "hosts.ports"];
        idle.unless(linked, &keys, "only a hosts.link makes a difference of it");
        self.idle_of_controllers(&mut idle);
        if let Some(cache) = &self.cache {
            self.idle_of_cache(cache, &mut idle);
        }
        self.idle_of_drives(&mut idle);
        idle.0
    }

    /// Refuses a file's layout that its own spare space or group contradicts; where one of both was set the file may state what
    /// other layouts use.
    pub(super) fn check_layout(&self, settings: &[(String, String)]) -> Result<(), Error> {
        let set = |name: &str| settings.iter().any(|(key, _)| key == name);
        let (Some(pool), Some(volume)) = (&self.pool, &self.volume) else {
            return Ok(());
        };
        if ["volume", "volume.layout"].into_iter().any(set) {
            return Ok(());
        }
        let stated = [
            (
                "pool.spares",
                pool.spares > 0,
                "leave it out, for a drive that waits beside the others is none of pool.drives, or write vraid0 to vraid6",
            ),
            (
                "volume.group",
                volume.group.is_some(),
                "leave it out, or write vraid5 or vraid6",
            ),
        ];
        let idle = self.idle();
        for (name, _, remedy) in stated
            .iter()
            .filter(|(name, stated, _)| *stated && !set(name))
        {
            if let Some((_, why)) = idle.iter().find(|(key, _)| key == name) {
                return Err(Error::at(*name, format!("{why}: {remedy}")));
            }
        }
        Ok(())
    }

    fn idle_of_controllers(&self, idle: &mut Idle) {
        let Some(controller) = &self.controller else {
            return;
        };
        let timed = [
            controller.command_read,
            controller.command_hit,
            controller.command_write,
            controller.command_disk,
        ]
        .iter()
        .any(|&cost| cost > Time::ZERO);
        idle.unless(timed, &["controller.cores"], "no command takes any time");
        let counts = timed || controller.bus.is_some() || controller.xor.is_some();
        let mirrored = self.cache.as_ref().is_some_and(|cache| cache.mirrored);
        let why = "nothing that a controller does takes any time";
        idle.unless(counts || mirrored, &["controller.count"], why);
    }

    fn idle_of_cache(&self, cache: &Cache, idle: &mut Idle) {
        if cache.mode == CacheMode::Off {
            idle.unless(false, OF_CACHING, "cache.mode is off");
            idle.unless(false, OF_WRITING_BACK, "cache.mode is off");
            return;
        }
        let back = cache.mode == CacheMode::WriteBack;
        let why = if !back {
            "cache.mode is write-through"
        } else if cache.battery == Battery::Failed {
            "cache.battery has failed, so writes go through"
        } else {
            "cache.write is 0, so writes go through"
        };
        idle.unless(self.writes_back(), OF_WRITING_BACK, why);
        // What would hold writes if it were given: of no space at all the space itself is the reason.
        let given = cache.write.0 > 0;
        idle.unless(
            self.writes_back() || cache.shared || !given,
            &["cache.write"],
            why,
        );
        idle.unless(back, &["cache.battery"], why);
        if self.writes_back() {
            let why = "cache.mirrored is false";
            idle.unless(cache.mirrored, &["cache.mirror_link"], why);
        }
        let ahead = cache.read_ahead.0 > 0;
        idle.unless(ahead, &["cache.streams"], "cache.read_ahead is 0");
        let followed = cache.streams > 0;
        idle.unless(followed, &["cache.read_ahead"], "cache.streams is 0");
    }

    fn idle_of_drives(&self, idle: &mut Idle) {
        let (Some(pool), Some(volume)) = (&self.pool, &self.volume) else {
            return;
        };
        let layout = volume.layout;
        let unused = |what: &str| format!("{} has no {what}", layout.name());
        let parity = layout.parities() > 0;
        idle.unless(parity, &["volume.parity_write"], &unused("parity"));
        if self.controller.is_some() {
            idle.unless(parity, &["controller.xor"], &unused("parity"));
        }
        let grouped = matches!(layout, Kind::Vraid5 | Kind::Vraid6);
        idle.unless(grouped, &["volume.group"], &unused("groups to choose"));
        let copies = matches!(layout, Kind::Raid1 | Kind::Raid10 | Kind::Vraid1);
        idle.unless(copies, &["volume.mirror_read"], &unused("copies"));
        let rebuilt = pool.failed > 0 && pool.rebuild_rate.is_some();
        let chunked = !matches!(layout, Kind::Jbod | Kind::Raid1);
        idle.unless(chunked || rebuilt, &["volume.chunk"], &unused("chunks"));
        idle.unless(
            layout.is_virtual(),
            &["pool.spares"],
            &unused("spare space"),
        );
        let why = "pool.failed is 0";
        idle.unless(pool.failed > 0, &["pool.rebuild_rate"], why);
        let why = "the volume takes all there is: set volume.size as well";
        idle.unless(volume.size.is_some(), &["volume.placement"], why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(settings: &[(&str, &str)]) -> Vec<&'static str> {
        let text = r#"
            title = "t"
            hosts = { link = "fc-2g" }
            controller = { command_read = "10us" }
            cache = { read = "1MiB", write = "1MiB", read_ahead = "64KiB", mirrored = true }
            pool = { drives = 8, drive = "d", failed = 1 }
            volume = { layout = "vraid5", size = "1GiB" }
        "#;
        let settings: Vec<_> = settings
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let found = SystemDescription::from_toml(text, &settings)
            .unwrap()
            .idle();
        found.into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn spare_space_and_groups_that_a_files_own_layout_has_not_are_refused() {
        let read = |pool: &str, volume: &str, settings: &[(&str, &str)]| {
            let text = format!(
                "title = 't'\n[pool]\ndrives = 8\ndrive = 'd'\n{pool}\n[volume]\n{volume}\n"
            );
            let settings: Vec<_> = settings
                .iter()
                .map(|&(key, value)| (key.to_owned(), value.to_owned()))
                .collect();
            SystemDescription::from_toml(&text, &settings).map_err(|error| error.to_string())
        };
        for layout in ["jbod", "raid0", "raid1", "raid10", "raid5", "raid6"] {
            let volume = format!("layout = '{layout}'");
            let refused = read("spares = 1", &volume, &[]).unwrap_err();
            assert!(
                refused.starts_with(&format!("pool.spares: {layout} has no spare space: leave"))
            );
            assert!(read("spares = 0", &volume, &[]).is_ok());
            assert!(read("", &volume, &[("pool.spares", "1"), ("volume.group", "4")]).is_ok());
        }
        for layout in ["jbod", "raid6", "vraid0", "vraid1"] {
            let refused = read("", &format!("layout = '{layout}'\ngroup = 4"), &[]).unwrap_err();
            assert!(
                refused.starts_with(&format!("volume.group: {layout} has no groups to choose"))
            );
        }
        for layout in ["vraid5", "vraid6"] {
            let volume = format!("layout = '{layout}'\ngroup = 4");
            assert!(read("spares = 1", &volume, &[("volume.layout", "raid6")]).is_ok());
            assert!(read("spares = 1", &volume, &[]).is_ok());
        }
    }

    #[test]
    fn a_key_changes_nothing_where_what_it_sets_is_not_there() {
        assert_eq!(idle(&[]), ["volume.mirror_read"]);
        let without_parity = ["volume.parity_write", "controller.xor", "volume.group"];
        assert_eq!(idle(&[("volume.layout", "vraid1")]), without_parity);
        assert!(idle(&[("volume.layout", "raid10")]).contains(&"pool.spares"));
        assert!(idle(&[("pool.failed", "0")]).contains(&"pool.rebuild_rate"));
        assert!(idle(&[("cache.mirrored", "false")]).contains(&"cache.mirror_link"));
        let off = idle(&[("cache.mode", "off")]);
        assert!(off.contains(&"cache.read") && !off.contains(&"cache.mode"));
        let through = idle(&[("cache.battery", "failed")]);
        assert!(through.contains(&"cache.low_water") && !through.contains(&"cache.read"));
    }
}
