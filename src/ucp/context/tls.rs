//! Names of transports in `UCX_TLS`: aliases, and how an entry of the list is matched.

/// A name that stands for several transports; `tl:aux` entries are for auxiliary use only.
pub struct Alias {
    pub name: &'static str,
    pub tls: &'static [&'static str],
}

const fn alias(name: &'static str, tls: &'static [&'static str]) -> Alias {
    Alias { name, tls }
}

const SHARED_MEMORY: &[&str] = &["posix", "sysv", "xpmem", "knem", "cma"];

/// The aliases of UCX.
pub const ALIASES: &[Alias] = &[
    alias("mm", &["posix", "sysv", "xpmem"]),
    alias("sm", SHARED_MEMORY),
    alias("shm", SHARED_MEMORY),
    alias("loopback", &["self"]),
    alias(
        "ib",
        &[
            "rc_verbs",
            "ud_verbs",
            "rc_mlx5",
            "ud_mlx5",
            "dc_mlx5",
            "gga_mlx5",
            "ud_mlx5:aux",
            "ud_verbs:aux",
            "srd",
            "rc_gda",
        ],
    ),
    alias("ud_v", &["ud_verbs"]),
    alias("ud_x", &["ud_mlx5"]),
    alias("ud", &["ud_mlx5", "ud_verbs"]),
    alias("rc_v", &["rc_verbs", "ud_verbs:aux"]),
    alias("rc_x", &["rc_mlx5", "ud_mlx5:aux"]),
    alias(
        "rc",
        &["rc_mlx5", "ud_mlx5:aux", "rc_verbs", "ud_verbs:aux"],
    ),
    alias("dc", &["dc_mlx5", "ud_mlx5:aux"]),
    alias("dc_x", &["dc_mlx5", "ud_mlx5:aux"]),
    alias("ugni", &["ugni_smsg", "ugni_udt:aux", "ugni_rdma"]),
    alias("cuda", &["cuda_copy", "cuda_ipc", "gdr_copy"]),
    alias("rocm", &["rocm_copy", "rocm_ipc", "rocm_gdr"]),
    alias("ze", &["ze_copy", "ze_ipc", "ze_gdr"]),
    alias("gaudi", &["gaudi_gdr"]),
    alias("gga", &["gga_mlx5"]),
];

/// What an entry of the list says about a transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Match {
    /// It is named, by itself or by an alias.
    pub primary: bool,
    /// It is named for auxiliary use (`tl:aux`, or an alias that includes it so).
    pub aux: bool,
    /// It is named for auxiliary use by `tl:aux` or `alias:aux` itself.
    pub aux_explicit: bool,
    /// One alias names it both ways.
    pub both_by_alias: bool,
}

impl Match {
    /// How one entry (`tcp`, `\tcp`, `sm`, `rc:aux`) matches the transport `tl`.
    pub fn of(entry: &str, tl: &str) -> Match {
        let mut found = Match::default();
        let (name, aux) = match entry.strip_suffix(":aux") {
            Some(name) => (name, true),
            None => (entry, false),
        };
        let (strict, exact) = match name.strip_prefix('\\') {
            Some(exact) => (true, exact),
            None => (false, name),
        };
        if exact == tl {
            found.primary |= !aux;
            found.aux |= aux;
            found.aux_explicit |= aux;
        }
        for alias in ALIASES.iter().filter(|alias| !strict && alias.name == name) {
            let named = alias.tls.contains(&tl);
            let named_aux = alias.tls.iter().any(|t| t.strip_suffix(":aux") == Some(tl));
            if aux {
                found.aux |= named;
                found.aux_explicit |= named;
                continue;
            }
            found.primary |= named;
            found.aux |= named_aux;
            found.both_by_alias |= named && named_aux;
        }
        found
    }

    pub fn any(self) -> bool {
        self.primary || self.aux
    }

    fn or(self, other: Match) -> Match {
        Match {
            primary: self.primary || other.primary,
            aux: self.aux || other.aux,
            aux_explicit: self.aux_explicit || other.aux_explicit,
            both_by_alias: self.both_by_alias || other.both_by_alias,
        }
    }

    /// What all entries together say.
    pub fn of_all<'a>(entries: impl IntoIterator<Item = &'a str>, tl: &str) -> Match {
        let each = entries.into_iter().map(|entry| Match::of(entry, tl));
        each.fold(Match::default(), Match::or)
    }
}

/// True if some alias uses the transport for auxiliary purposes.
pub fn is_auxiliary(tl: &str) -> bool {
    let mut all = ALIASES.iter().flat_map(|alias| alias.tls);
    all.any(|name| name.strip_suffix(":aux") == Some(tl))
}

/// True if UCX has an alias or a transport of this name, whether or not it is built in here.
pub fn is_known(entry: &str) -> bool {
    const OTHERS: &[&str] = &["self", "tcp", "all"];
    let name = entry.strip_suffix(":aux").unwrap_or(entry);
    let name = name.strip_prefix('\\').unwrap_or(name);
    let in_alias = |alias: &Alias| alias.name == name || alias.tls.contains(&name);
    OTHERS.contains(&name) || ALIASES.iter().any(in_alias)
}
