//! Operations one after another, and who holds them back.

use super::*;

impl Uct<'_> {
    pub(super) fn stream(&mut self, measure: &mut Measure) {
        let (send, recv) = (self.state.send, self.recv_buffer());
        // SAFETY: both have as many bytes.
        unsafe {
            send.write_bytes(0, self.size);
            recv.write_bytes(0, self.size);
        }
        self.state.last.set(0);
        // Data of gets comes here, all other to the peer.
        let watched = match self.command {
            Command::Am => Watched::Message,
            Command::Get => Watched::At(send),
            _ => Watched::At(recv),
        };
        self.meet();
        measure.start();
        let loopback = self.setup.params.flags.contains(Flags::LOOPBACK);
        match (
            self.command == Command::Am,
            loopback || !self.setup.rte.is_server(),
        ) {
            (true, true) => self.send_messages(measure),
            (true, false) => self.receive_messages(measure),
            (false, true) => self.send_flow(measure),
            (false, false) => self.receive_flow(watched),
        }
    }

    /// Without completions that must be waited for there is no window.
    fn has_window(&self) -> bool {
        match self.command {
            Command::Add => false,
            Command::Am | Command::Put => self.layout == ZCOPY,
            _ => true,
        }
    }

    /// Active messages are taken by the peer's program: no more than a window are on their way.
    fn send_messages(&mut self, measure: &mut Measure) {
        let (windowed, room) = (self.has_window(), self.setup.params.fc_window as u8);
        let mut number = 1u8;
        while !measure.is_done() {
            while after(number, self.state.last.get().wrapping_add(room)) {
                self.respond();
            }
            self.wait_window(windowed);
            self.send(number, number.wrapping_sub(1), true);
            number = number.wrapping_add(1);
            self.account(measure);
        }
        while after(number.wrapping_sub(1), self.state.last.get()) {
            self.respond();
        }
    }

    fn receive_messages(&mut self, measure: &mut Measure) {
        let (windowed, room) = (self.has_window(), self.setup.params.fc_window as u8);
        let mut told = u8::MAX;
        while !measure.is_done() {
            self.respond();
            let number = self.state.last.get();
            if after(number, told.wrapping_add(room / 2)) {
                self.wait_window(windowed);
                self.send(number, told, true);
                told = number;
            }
            let seen = measure.iterations() as u8;
            measure.add_iterations(u64::from(number.wrapping_sub(seen)));
        }
        if after(self.state.last.get(), told) {
            self.wait_window(windowed);
            self.send(self.state.last.get(), told, true);
        }
    }

    /// Operations on the peer's memory; the last one ends what it waits for.
    fn send_flow(&mut self, measure: &mut Measure) {
        let windowed = self.has_window();
        self.write(Watched::At(self.state.send), 0);
        while !measure.is_done() {
            self.wait_window(windowed);
            self.send(0, 0, true);
            self.account(measure);
        }
        if self.command == Command::Get {
            // The peer reads it here.
            return self.write(Watched::At(self.recv_buffer()), END);
        }
        // SAFETY: a live endpoint.
        unsafe {
            if let Some(fence) = (*(*self.setup.ep).iface).ops.ep_fence {
                let status = fence(self.setup.ep, 0);
                if status.is_err() {
                    error!("uct_ep_fence() failed: {}", status_text(status));
                }
            }
        }
        self.wait_window(windowed);
        self.write(Watched::At(self.state.send), END);
        self.send(END, 0, true);
    }

    fn receive_flow(&mut self, watched: Watched) {
        let mut asked = ticks();
        let pause = Measure::ticks_of(1e-3);
        loop {
            self.respond();
            if self.read(watched) == END {
                return;
            }
            // Reads until the peer says that it is done.
            if self.command == Command::Get && ticks().wrapping_sub(asked) > pause {
                self.wait_window(true);
                self.send(0, 0, true);
                asked = ticks();
            }
        }
    }
}
