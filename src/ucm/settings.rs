//! `UCX_MEM_*`: whether and how calls are watched.

use core::time::Duration;

use parking_lot::Mutex;

use crate::ucs::config::Config;

/// How calls are intercepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    None,
    /// By the relocation tables of loaded objects.
    Reloc,
    /// By changing the code of the functions.
    Bistro,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Whether there are events at all.
    pub events: bool,
    pub mode: Mode,
    /// With [`Mode::Reloc`]: keep the heap from unmapping anything unseen.
    pub heap: bool,
    /// With [`Mode::Reloc`]: watch blocks that the heap has mapped one by one, too.
    pub heap_blocks: bool,
    /// With [`Mode::Reloc`]: look for libraries in the RPATH of who asks for them.
    pub rpath: bool,
    /// With [`Mode::Bistro`]: never jump to a hook directly.
    pub far_jump: bool,
    /// With [`Mode::Bistro`]: how long other threads get to leave the code that is changed.
    pub grace: Duration,
}

/// What the program chose in place of the variables.
static CHOSEN: Mutex<Option<(bool, Mode)>> = Mutex::new(None);

impl Settings {
    /// The variables, except for what the program has chosen.
    pub fn get() -> Settings {
        let config = Config::global();
        let mut settings = Settings {
            events: config.bool_("MEM_EVENTS"),
            mode: match config.choice("MEM_MMAP_HOOK_MODE") {
                "none" => Mode::None,
                "reloc" => Mode::Reloc,
                _ => Mode::Bistro,
            },
            heap: config.bool_("MEM_MALLOC_HOOKS"),
            heap_blocks: config.bool_("MEM_MALLOC_RELOC"),
            rpath: config.bool_("MEM_DLOPEN_PROCESS_RPATH"),
            far_jump: config.bool_("MEM_BISTRO_FORCE_FAR_JUMP"),
            grace: Duration::try_from_secs_f64(config.time("MEM_BISTRO_GRACE_DURATION"))
                .unwrap_or(Duration::from_millis(50))
                .min(Duration::from_secs(10)),
        };
        if let Some((events, mode)) = *CHOSEN.lock() {
            (settings.events, settings.mode) = (events, mode);
        }
        settings
    }

    /// The program's own choice (`ucm_set_global_opts`).
    pub fn choose(events: bool, mode: Mode) {
        *CHOSEN.lock() = Some((events, mode));
    }
}
