//! Frames and paths of a session, for Play.

use crate::message::PeerId;
use crate::transport::{NotSentError, Path, Transport};

use super::frames::Frames;
use super::{Client, Server};

/// The methods that both sides have.
macro_rules! carries_frames {
    ($side:ident) => {
        #[allow(dead_code, reason = "Play uses them")]
        impl<C: 'static, T: Transport> $side<C, T> {
            /// Takes frames from now on. Without this call, a frame is a violation of the protocol.
            pub(crate) fn enable_frames(&mut self) {
                self.session.hub.frames.get_or_insert_with(Frames::default);
            }

            /// Returns the next received frame: its peer, its number and its body.
            pub(crate) fn poll_frame(&mut self) -> Option<(PeerId, u8, &[u8])> {
                self.session.hub.frames.as_mut()?.poll()
            }

            /// Sends a frame to a peer at once, by the next
            /// [`transmit`](Self::transmit). The first
            /// [`FRAME_PREFIX`](crate::message::FRAME_PREFIX) bytes of `batch` are filled here.
            ///
            /// # Errors
            ///
            /// [`NotSentError`] if the peer is not connected or the frame too large.
            pub(crate) fn send_frame(
                &mut self,
                peer: PeerId,
                number: u8,
                batch: &mut [u8],
            ) -> Result<(), NotSentError> {
                self.session.send_frame(peer, number, batch)
            }

            /// Returns the state of a peer's connection; `None` if there is no such peer. Unlike
            /// [`stats`](Self::stats), it allocates nothing.
            #[must_use]
            pub fn path(&self, peer: PeerId) -> Option<Path> {
                self.session.path(peer)
            }

            /// Returns the number of frames of a peer that were dropped since it sent too many.
            pub(crate) fn frames_dropped(&self, peer: PeerId) -> u64 {
                self.session.frames_dropped(peer)
            }

            /// Disconnects a peer with this reason.
            pub(crate) fn close(&mut self, peer: PeerId, reason: &crate::reason::Reason) {
                self.session.close(peer, reason);
            }
        }
    };
}

carries_frames!(Server);
carries_frames!(Client);
