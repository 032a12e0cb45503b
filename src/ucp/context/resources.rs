//! Finding the transports that the configuration allows.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::ucs::config::{AllowList, Config, Mode};
use crate::ucs::status::{Error, Result};
use crate::uct::{Component, DeviceKind, Md, TlDevice};

use super::names::nearest;
use super::tls::{self, ALIASES, Match};
use super::why::Unused;
use super::{MAX_RESOURCES, MdResource, TlResource};

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub mds: Vec<MdResource>,
    pub resources: Vec<TlResource>,
}

/// The kinds of devices, by value, with what messages and variables call them.
const KINDS: [(DeviceKind, &str, &str); 4] = [
    (DeviceKind::Net, "network", "NET_DEVICES"),
    (DeviceKind::Shm, "intra-node", "SHM_DEVICES"),
    (DeviceKind::Acc, "accelerator", "ACC_DEVICES"),
    (DeviceKind::Loopback, "loopback", "SELF_DEVICES"),
];

/// What the configuration chooses.
struct Choice {
    tls: AllowList,
    devices: [AllowList; 4],
}

/// What the machine offers, for messages about names that it doesn't.
#[derive(Default)]
struct Offer {
    tls: BTreeSet<&'static str>,
    /// Name of the device and of its component, by kind.
    devices: [BTreeSet<(String, &'static str)>; 4],
}

/// Lists the resources of all components in their order, as far as `config` allows them.
pub(super) fn discover(
    components: &'static [&'static dyn Component],
    config: &Config,
) -> Result<Found> {
    let choice = Choice::read(config)?;
    let mut offer = Offer::default();
    let mut found = Found::default();
    for (index, component) in components.iter().enumerate() {
        for md_name in component.query_mds() {
            match component.open_md(&md_name, config) {
                Ok(md) => add_md(&mut found, &mut offer, &choice, index as u8, &*md)?,
                Err(error) => {
                    crate::ucs_diag!("memory domain {md_name} is not used: {error}");
                }
            }
        }
    }
    choice.report_unknown(&offer);
    let usable = |rsc: &TlResource| !rsc.aux && rsc.kind() != DeviceKind::Acc;
    if !found.resources.iter().any(usable) {
        crate::ucs_error!("no usable transports/devices (asked {})", choice.text());
        return Err(Error::NoDevice);
    }
    Ok(found)
}

/// What [`discover`] leaves out, with the reason.
pub(super) fn refused(
    components: &'static [&'static dyn Component],
    config: &Config,
) -> Vec<Unused> {
    let Ok(choice) = Choice::read(config) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for component in components {
        let mut refuse = |tl_name: &str, dev_name: &str, reason: String| {
            found.push(Unused {
                tl_name: tl_name.to_owned(),
                dev_name: dev_name.to_owned(),
                reason,
            });
        };
        let mds = component.query_mds();
        if mds.is_empty() {
            let reason = component.unavailable();
            refuse(component.tl_name(), "", reason);
        }
        for name in mds {
            let devices = component.open_md(&name, config).and_then(|md| md.devices());
            match devices {
                Ok(devices) if devices.is_empty() => {
                    refuse(component.name(), "", "no device".to_owned());
                }
                Ok(devices) => {
                    for device in devices.iter().filter(|d| choice.allows(d).is_none()) {
                        refuse(device.tl_name, &device.dev_name, choice.refusal(device));
                    }
                }
                Err(error) => refuse(component.name(), "", error.to_string()),
            }
        }
    }
    found
}

fn add_md(
    found: &mut Found,
    offer: &mut Offer,
    choice: &Choice,
    cmpt_index: u8,
    md: &dyn Md,
) -> Result<()> {
    let devices = md.devices().unwrap_or_else(|error| {
        crate::ucs_error!("failed to list the devices of {}: {error}", md.name());
        Vec::new()
    });
    let md_index = found.mds.len() as u8;
    let mut used = false;
    for device in devices {
        offer.tls.insert(device.tl_name);
        offer.devices[device.kind as usize]
            .insert((device.dev_name.clone(), md.component().name()));
        let Some(aux) = choice.allows(&device) else {
            continue;
        };
        if found.resources.len() >= MAX_RESOURCES || found.mds.len() >= MAX_RESOURCES {
            crate::ucs_error!("more than {MAX_RESOURCES} transports/devices");
            return Err(Error::ExceedsLimit);
        }
        let dev_index = device_index(&found.resources, &device);
        found.resources.push(TlResource {
            md_index,
            dev_index,
            aux,
            device,
        });
        used = true;
    }
    if used {
        found.mds.push(MdResource {
            cmpt_index,
            name: md.name().to_owned(),
            attr: md.attr(),
        });
    }
    Ok(())
}

/// Resources with the same device name are on one device.
fn device_index(resources: &[TlResource], device: &TlDevice) -> u8 {
    let same = resources
        .iter()
        .find(|rsc| rsc.device.dev_name == device.dev_name);
    let next = || {
        resources
            .iter()
            .map(|rsc| rsc.dev_index + 1)
            .max()
            .unwrap_or(0)
    };
    same.map_or_else(next, |rsc| rsc.dev_index)
}

impl Choice {
    fn read(config: &Config) -> Result<Choice> {
        let list = |name: &str| everything_if_named(config.allow_list(name));
        let choice = Choice {
            tls: list("TLS"),
            devices: KINDS.map(|(_, _, variable)| list(variable)),
        };
        if is_empty(&choice.tls) {
            crate::ucs_error!(
                "UCX_TLS is an empty list: name transports to allow (tcp,sm) or to forbid (^tcp), \
                 or unset it to allow all"
            );
            return Err(Error::NoElem);
        }
        if choice.devices.iter().all(is_empty) {
            crate::ucs_error!("all lists of devices (UCX_*_DEVICES) are empty: nothing is left");
            return Err(Error::NoElem);
        }
        Ok(choice)
    }

    /// `Some` if the device may be used, with whether for auxiliary purposes only.
    fn allows(&self, device: &TlDevice) -> Option<bool> {
        let list = &self.devices[device.kind as usize];
        let named = list.names.iter().any(|name| names_device(name, device));
        let allowed = match list.mode {
            Mode::All => true,
            Mode::Only => named,
            Mode::AllBut => !named,
        };
        allowed.then(|| self.allows_tl(device.tl_name))?
    }

    /// Which variable says so, of a device that isn't allowed.
    fn refusal(&self, device: &TlDevice) -> String {
        let variable = match self.allows_tl(device.tl_name) {
            Some(_) => KINDS.iter().find(|(kind, ..)| *kind == device.kind),
            None => None,
        };
        let (variable, list) = match variable {
            Some((kind, _, variable)) => (*variable, &self.devices[*kind as usize]),
            None => ("TLS", &self.tls),
        };
        format!("UCX_{variable}={} leaves it out", show(list))
    }

    fn allows_tl(&self, tl: &str) -> Option<bool> {
        let named = Match::of_all(self.tls.names.iter().map(String::as_str), tl);
        match self.tls.mode {
            Mode::All => Some(false),
            Mode::Only if named.primary => Some(false),
            Mode::Only => named.aux.then_some(true),
            Mode::AllBut if !tls::is_auxiliary(tl) => (!named.primary).then_some(false),
            // Another transport may need it to connect: it goes only if both uses are forbidden.
            Mode::AllBut if (named.primary && named.aux_explicit) || named.both_by_alias => None,
            Mode::AllBut => Some(named.primary),
        }
    }

    fn report_unknown(&self, offer: &Offer) {
        self.report_tls(offer);
        for (kind, title, variable) in KINDS {
            let (list, offered) = (&self.devices[kind as usize], &offer.devices[kind as usize]);
            let unknown = |name: &&String| {
                !offered
                    .iter()
                    .any(|(dev, _)| dev == *name || base_name(dev) == Some(name))
            };
            let missing: Vec<&String> = list.names.iter().filter(unknown).collect();
            let shown: Vec<String> = offered
                .iter()
                .map(|(dev, cmpt)| format!("'{dev}'({cmpt})"))
                .collect();
            let known: Vec<&str> = offered.iter().map(|(dev, _)| dev.as_str()).collect();
            report(
                &format!("{title} device"),
                variable,
                &missing,
                &shown,
                &known,
            );
            for name in duplicates(&list.names) {
                crate::ucs_warn!("device '{name}' is specified multiple times in UCX_{variable}");
            }
        }
    }

    fn report_tls(&self, offer: &Offer) {
        let mut names: BTreeSet<&str> = offer.tls.iter().copied().collect();
        for alias in ALIASES {
            if alias.name != "loopback" && alias.tls.iter().any(|tl| offer.tls.contains(tl)) {
                names.insert(alias.name);
            }
        }
        let unknown = |entry: &&String| {
            let matches = |tl: &&str| Match::of(entry, tl).any();
            // To forbid a transport that isn't there is no mistake, as long as UCX has it.
            let excused = self.tls.mode == Mode::AllBut && tls::is_known(entry);
            !offer.tls.iter().any(matches) && !excused
        };
        let missing: Vec<&String> = self.tls.names.iter().filter(unknown).collect();
        let shown: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let known: Vec<&str> = names.into_iter().collect();
        report("transport", "TLS", &missing, &shown, &known);
    }

    /// What was asked for, without lists that allow everything.
    fn text(&self) -> String {
        let mut text = String::new();
        if self.tls.mode != Mode::All {
            let _ = write!(text, "{} on ", show(&self.tls));
        }
        let restricted = |kind: DeviceKind| self.devices[kind as usize].mode != Mode::All;
        let mut any = false;
        for (kind, title, _) in KINDS.into_iter().filter(|(kind, ..)| restricted(*kind)) {
            let separator = if any { " " } else { "" };
            let _ = write!(
                text,
                "{separator}{title}:{}",
                show(&self.devices[kind as usize])
            );
            any = true;
        }
        if !any {
            text.push_str("all devices");
        }
        text
    }
}

/// A list as the user writes it.
fn show(list: &AllowList) -> String {
    let sign = if list.mode == Mode::AllBut { "^" } else { "" };
    format!("{sign}{}", list.names.join(","))
}

/// Nothing at all is listed, which is a mistake.
fn is_empty(list: &AllowList) -> bool {
    list.mode != Mode::All && list.names.is_empty()
}

/// `all` (or `any`) among the names allows everything.
fn everything_if_named(list: AllowList) -> AllowList {
    if list.mode == Mode::Only && list.names.iter().any(|name| name == "all" || name == "any") {
        return AllowList {
            mode: Mode::All,
            names: Vec::new(),
        };
    }
    list
}

/// One warning about all names of a list that don't exist.
fn report(title: &str, variable: &str, missing: &[&String], shown: &[String], known: &[&str]) {
    if missing.is_empty() {
        return;
    }
    let (plural, verb) = if missing.len() > 1 {
        ("s", "are")
    } else {
        ("", "is")
    };
    let quoted: Vec<String> = missing.iter().map(|name| format!("'{name}'")).collect();
    let mut hints = String::new();
    for name in missing {
        if name.starts_with('^') {
            let _ = write!(
                hints,
                "; '^' is only understood at the start of UCX_{variable}"
            );
        } else if tls::is_known(name) {
            // UCX has it, this machine doesn't.
        } else if let Some(near) = nearest(name, known.iter().copied()) {
            let _ = write!(hints, "; did you mean '{near}'?");
        }
    }
    let shown = if shown.is_empty() {
        "(none)".to_owned()
    } else {
        shown.join(", ")
    };
    crate::ucs_warn!(
        "{title}{plural} {} {verb} not available, please use one or more of: {shown}{hints}",
        quoted.join(",")
    );
}

fn names_device(name: &str, device: &TlDevice) -> bool {
    let base = || device.kind == DeviceKind::Net && base_name(&device.dev_name) == Some(name);
    name == device.dev_name || base()
}

/// `mlx5_0` of `mlx5_0:1`.
fn base_name(device: &str) -> Option<&str> {
    device
        .split_once(':')
        .map(|(base, _)| base)
        .filter(|base| !base.is_empty())
}

fn duplicates(names: &[String]) -> BTreeSet<&str> {
    let seen_before = |(index, name): &(usize, &String)| names[..*index].contains(name);
    names
        .iter()
        .enumerate()
        .filter(seen_before)
        .map(|(_, name)| name.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::test_components::COMPONENTS;
    use super::*;

    fn config(values: &[(&str, &str)]) -> Config {
        let mut config = Config::default();
        for (name, value) in values {
            config.set(name, value);
        }
        config
    }

    fn found(values: &[(&str, &str)]) -> Result<Vec<String>> {
        let found = discover(COMPONENTS, &config(values))?;
        let show = |rsc: &TlResource| {
            let aux = if rsc.aux { ":aux" } else { "" };
            format!("{}/{}{aux}", rsc.tl_name(), rsc.dev_name())
        };
        Ok(found.resources.iter().map(show).collect())
    }

    fn list(tls: &str) -> Vec<String> {
        found(&[("TLS", tls)]).unwrap_or_default()
    }

    #[test]
    fn everything_in_order() {
        let all = [
            "self/memory",
            "tcp/eth0",
            "tcp/lo",
            "sysv/memory",
            "posix/memory",
            "cma/memory",
        ];
        assert_eq!(list("all"), all);
        assert_eq!(found(&[]).unwrap_or_default(), all);
        let found = discover(COMPONENTS, &config(&[])).expect("resources");
        let devices: Vec<u8> = found.resources.iter().map(|rsc| rsc.dev_index).collect();
        assert_eq!(devices, [0, 1, 2, 0, 0, 0]);
        let mds: Vec<u8> = found.resources.iter().map(|rsc| rsc.md_index).collect();
        assert_eq!(mds, [0, 1, 1, 2, 3, 4]);
    }

    #[test]
    fn names_and_aliases() {
        assert_eq!(list("tcp"), ["tcp/eth0", "tcp/lo"]);
        assert_eq!(list("\\tcp"), ["tcp/eth0", "tcp/lo"]);
        assert_eq!(list("sm"), ["sysv/memory", "posix/memory", "cma/memory"]);
        assert_eq!(list("shm"), list("sm"));
        assert_eq!(list("mm"), ["sysv/memory", "posix/memory"]);
        assert_eq!(list("\\mm"), Vec::<String>::new());
        assert_eq!(list(" self , loopback,"), ["self/memory"]);
        assert_eq!(list("sysv,sysv"), ["sysv/memory"]);
        assert_eq!(
            list("self,tcp:aux"),
            ["self/memory", "tcp/eth0:aux", "tcp/lo:aux"]
        );
        assert_eq!(list("tcp,tcp:aux"), list("tcp"));
    }

    #[test]
    fn negation() {
        assert_eq!(list("^sm"), ["self/memory", "tcp/eth0", "tcp/lo"]);
        assert_eq!(list("^sm,self"), list("tcp"));
        assert_eq!(list("^rc"), list("all"));
        assert_eq!(list("self,^tcp"), ["self/memory"]);
    }

    #[test]
    fn nothing_left() {
        for tls in ["tpc", "TCP", "ib", "^self,tcp,sm", "tcp:aux"] {
            assert_eq!(found(&[("TLS", tls)]), Err(Error::NoDevice), "{tls}");
        }
        for tls in ["", ",", "^"] {
            assert_eq!(found(&[("TLS", tls)]), Err(Error::NoElem), "{tls:?}");
        }
        let none = [("TLS", "tcp"), ("NET_DEVICES", "eth9")];
        assert_eq!(found(&none), Err(Error::NoDevice));
    }

    #[test]
    fn devices() {
        let net = |devices: &str| {
            found(&[("TLS", "self,tcp"), ("NET_DEVICES", devices)]).unwrap_or_default()
        };
        assert_eq!(net("eth0"), ["self/memory", "tcp/eth0"]);
        assert_eq!(net("eth[0-3],eth9"), ["self/memory", "tcp/eth0"]);
        assert_eq!(net("^eth0"), ["self/memory", "tcp/lo"]);
        assert_eq!(net("all"), ["self/memory", "tcp/eth0", "tcp/lo"]);
        assert_eq!(net(""), ["self/memory"]);
        let shm = found(&[("SHM_DEVICES", "foo")]).unwrap_or_default();
        assert_eq!(shm, ["self/memory", "tcp/eth0", "tcp/lo"]);
    }

    #[test]
    fn refusals() {
        let why = |values: &[(&str, &str)]| {
            let list = refused(COMPONENTS, &config(values));
            let line = |u: &Unused| format!("{}/{}: {}", u.tl_name, u.dev_name, u.reason);
            list.iter().map(line).collect::<Vec<_>>()
        };
        assert_eq!(why(&[]), Vec::<String>::new());
        let tcp = "tcp/lo: UCX_NET_DEVICES=^lo leaves it out";
        assert_eq!(why(&[("NET_DEVICES", "^lo")]), [tcp]);
        let sm = why(&[("TLS", "self,tcp")]);
        assert_eq!(sm[0], "sysv/memory: UCX_TLS=self,tcp leaves it out");
        assert_eq!(sm.len(), 3);
    }

    #[test]
    fn text_of_what_was_asked_for() {
        let text = |values| Choice::read(&config(values)).map(|choice| choice.text());
        assert_eq!(text(&[]), Ok("all devices".to_owned()));
        let tcp = [("TLS", "tcp"), ("NET_DEVICES", "^eth9")];
        assert_eq!(text(&tcp), Ok("tcp on network:^eth9".to_owned()));
    }

    #[test]
    fn network_devices_by_base_name() {
        let device = |kind| TlDevice {
            tl_name: "rc_verbs",
            dev_name: "mlx5_0:1".to_owned(),
            kind,
        };
        assert!(names_device("mlx5_0:1", &device(DeviceKind::Net)));
        assert!(names_device("mlx5_0", &device(DeviceKind::Net)));
        assert!(!names_device("mlx5_0", &device(DeviceKind::Shm)));
        assert!(!names_device("mlx5_1", &device(DeviceKind::Net)));
    }
}
