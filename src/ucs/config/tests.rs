use std::collections::BTreeMap;

use proptest::prelude::*;

use super::file::Files;
use super::*;

fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn read(pairs: &[(&str, &str)]) -> Result<Config> {
    Config::from_sources(None, &environment(pairs), &Files::default())
}

#[test]
fn every_default_is_a_value() {
    for (name, entry) in index() {
        if !matches!(entry.var.kind, Kind::Deprecated | Kind::Alias(_)) {
            assert!(
                entry.var.kind.accepts(entry.default),
                "{name}={}",
                entry.default
            );
        }
    }
}

#[test]
fn every_alias_has_a_target() {
    for (name, entry) in index() {
        if matches!(entry.var.kind, Kind::Alias(_)) {
            assert!(resolve(name).is_some(), "{name}");
        }
    }
}

#[test]
fn the_most_specific_name_wins() {
    let config = read(&[
        ("UCX_ALLOC", "heap"),
        ("UCX_MM_BW", "1GBs"),
        ("UCX_SYSV_BW", "2GBs"),
    ])
    .expect("valid");
    assert_eq!(config.list("SYSV_ALLOC"), ["heap"]);
    assert_eq!(config.bandwidth("SYSV_BW"), Some(2.0 * 1024f64.powi(3)));
    assert_eq!(config.bandwidth("POSIX_BW"), Some(1024f64.powi(3)));
    assert_eq!(config.bandwidth("CMA_BW"), parse_bandwidth("11145MBs"));
}

#[test]
fn a_programs_own_prefix_wins() {
    let pairs = environment(&[
        ("UCX_TLS", "tcp"),
        ("MPI_UCX_TLS", "self"),
        ("UCX_NUM_EPS", "3"),
    ]);
    let config = Config::from_sources(Some("MPI"), &pairs, &Files::default()).expect("valid");
    assert_eq!(
        (config.text("TLS"), config.count("NUM_EPS")),
        ("self", Some(3))
    );
    assert_eq!(config.prefix(), "MPI_UCX_");
    assert_eq!(
        read(&[("MPI_UCX_TLS", "self")]).map(|c| c.text("TLS").to_owned()),
        Ok("all".into())
    );
}

#[test]
fn the_environment_wins_over_files() {
    let mut files = Files::default();
    files.values.insert("UCX_TLS".into(), "tcp".into());
    files.values.insert("UCX_SEG_SIZE".into(), "4k".into());
    let config =
        Config::from_sources(None, &environment(&[("UCX_TLS", "sm")]), &files).expect("valid");
    assert_eq!((config.text("TLS"), config.size("SEG_SIZE")), ("sm", 4096));
}

#[test]
fn wrong_values_are_refused() {
    for (name, value) in [
        ("UCX_RNDV_THRESH", "abc"),
        ("UCX_RNDV_THRESH", ""),
        ("UCX_TCP_PORT_RANGE", "9-1"),
        ("UCX_TCP_PORT_RANGE", "0-70000"),
        ("UCX_TCP_NODELAY", "perhaps"),
        ("UCX_SM_BW", "fast"),
        ("UCX_RNDV_SCHEME", "magic"),
        ("UCX_TLS", "all,tcp"),
    ] {
        assert_eq!(
            read(&[(name, value)]).err(),
            Some(Error::InvalidParam),
            "{name}={value}"
        );
    }
    // The log's own variables never keep a program from starting.
    let config = read(&[("UCX_LOG_LEVEL", "loud")]).expect("default in place of the wrong value");
    assert_eq!(config.choice("LOG_LEVEL"), "WARN");
}

#[test]
fn getters_give_defaults() {
    let config = Config::default();
    assert_eq!(config.keyed_size("RNDV_THRESH", "intra"), None);
    assert_eq!(config.size("SYSV_SEG_SIZE"), 8256);
    assert_eq!(config.uint("SYSV_FIFO_SIZE"), 256);
    assert_eq!(config.count("TCP_MAX_NUM_EPS"), Some(256));
    assert_eq!(config.count("SELF_MAX_NUM_EPS"), Some(u64::MAX));
    assert_eq!(config.ternary("RCACHE_ENABLE"), Ternary::Try);
    assert_eq!(config.ternary("PROTO_INDIRECT_ID"), Ternary::Auto);
    assert_eq!(config.time("KEEPALIVE_INTERVAL"), 20.0);
    assert_eq!(config.time("DYNAMIC_TL_SWITCH_INTERVAL"), f64::INFINITY);
    assert_eq!(config.time_auto("TCP_USER_TIMEOUT"), None);
    assert_eq!(config.int("TCP_TX_MAX_BUFS"), -1);
    assert_eq!(config.double("MULTI_LANE_MAX_RATIO"), 4.0);
    assert_eq!(config.double_auto("MULTI_PATH_RATIO"), None);
    assert_eq!(config.choice("RNDV_SCHEME"), "auto");
    assert_eq!(config.allow_list("TLS").mode, Mode::All);
    assert_eq!(config.range("TCP_PORT_RANGE"), (0, 0));
    assert!(config.bool_("TCP_NODELAY") && !config.bool_("NO_SUCH_VARIABLE"));
    assert!((config.keyed_time("PROTO_OVERHEAD", "multi") - 1e-8).abs() < 1e-15);
}

#[test]
fn modify_checks_like_reading() {
    let mut config = Config::default();
    assert_eq!(config.modify("TLS", "self,tcp"), Ok(()));
    assert_eq!(config.modify("MAX_EAGER_LANES", "3"), Ok(()));
    assert_eq!(config.uint("MAX_EAGER_RAILS"), 3);
    assert_eq!(config.modify("NO_SUCH", "1"), Err(Error::InvalidParam));
    assert_eq!(config.modify("", "1"), Err(Error::InvalidParam));
    assert_eq!(config.modify("LOG_FILE", "x"), Err(Error::InvalidParam));
    assert_eq!(
        config.modify("RNDV_THRESH", "abc"),
        Err(Error::InvalidParam)
    );
    assert_eq!(config.modify("*_TX_SEG_SIZE", "16k"), Ok(()));
    assert_eq!(config.size("TCP_TX_SEG_SIZE"), 16384);
}

#[test]
fn listings_have_the_known_form() {
    let config = read(&[("UCX_RNDV_THRESH", "8192")]).expect("valid");
    let all = print_all(&config, PREFIX, Print(Print::CONFIG), None);
    assert!(all.contains("\nUCX_RNDV_THRESH=intra:8K,inter:8K\n"));
    assert!(all.contains("\nUCX_TCP_MAX_BW=2200.00MBps\n"));
    assert!(!all.contains("deprecated") && !all.contains("MAX_EAGER_LANES"));
    let flags = Print(Print::CONFIG | Print::HEADER | Print::DOC | Print::HIDDEN);
    let all = print_all(&config, PREFIX, flags, Some("MAX_EAGER"));
    assert!(all.starts_with("# UCX library configuration file\n# Uncomment to modify values\n\n"));
    assert!(all.contains("#\n# UCP context configuration\n#\n\n#\n"));
    assert!(all.contains("# alias of:  UCX_MAX_EAGER_RAILS\n#\nUCX_MAX_EAGER_LANES=1\n"));
}

/// What no other UCX has is explained where users look: in the listing, and in the README.
#[test]
fn what_only_we_have_is_documented() {
    let config = read(&[]).expect("valid");
    let flags = Print(Print::CONFIG | Print::HEADER | Print::DOC);
    let all = print_all(&config, PREFIX, flags, None);
    let readme = include_str!("../../../README.md");
    let ours = ["UCX_FAILOVER_", "UCX_FAULT_"];
    let mut found = 0;
    for line in all.lines() {
        if let Some((name, _)) = line.split_once('=')
            && ours.iter().any(|prefix| name.starts_with(prefix))
        {
            found += 1;
            assert!(readme.contains(&format!("`{name}`")), "{name}");
        }
    }
    assert_eq!(found, 13);
    assert!(all.contains(
        "\n# A dead lane is tried again after this.\n\
         # \n#\n# syntax:    time value: <number>[m|s|ms|us|ns], \"inf\", or \"auto\"\n#\n\
         UCX_FAILOVER_RECOVERY_INTERVAL=1000000.00us\n"
    ));
}

proptest! {
    #[test]
    fn no_bytes_panic(data in proptest::collection::vec(any::<u8>(), 0..200)) {
        fuzz(&data);
    }

    #[test]
    fn no_value_panics(value in "\\PC{0,40}", text in "(?s).{0,80}") {
        let mut config = Config::default();
        for name in index().keys() {
            config.set(name, &value);
        }
        for name in index().keys() {
            let _ = (config.size(name), config.bool_(name), config.time(name), config.list(name));
            let _ = (config.allow_list(name), config.range(name), config.choice(name));
        }
        let mut files = Files::default();
        files.add(&text, "text", &ThisMachine);
        let _ = Config::from_sources(Some("P"), &BTreeMap::new(), &files);
    }
}
