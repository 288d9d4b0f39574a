package replay

import "time"

// What follows is a replay's time: it is the recording's, moved on by what asks
// for a later call.

// quiet is how long an autonomous turn may be silent before it is ended, as in
// the host.
const quiet = 2 * time.Second

// maxIdleTicks bounds the ticks between two records.
const maxIdleTicks = 1000

// advance lets time pass until to, with the ticks the Protocol asked for.
func (p *Player) advance(to time.Time) {
	for n := 0; ; n++ {
		next, tick := to, false
		if p.stamper.Settled() && p.spoke.Add(quiet).Before(next) {
			next = p.spoke.Add(quiet)
		}
		if !p.ticks && !p.wake.IsZero() && !p.wake.After(next) && !p.exited {
			next, tick = p.wake, true
		}
		if n == maxIdleTicks {
			p.fault("more than %d ticks until t=%d", maxIdleTicks, to.Sub(p.base).Milliseconds())
			p.wake = time.Time{}
			return
		}
		if next.After(p.now) {
			p.now = next
		}
		if tick {
			p.tick()
			continue
		}
		if p.stamper.Settled() && !p.spoke.Add(quiet).After(p.now) {
			p.envs = append(p.envs, p.stamper.Idle()...)
			if !p.direct {
				p.pump()
			}
			continue
		}
		if !p.now.Before(to) {
			return
		}
	}
}

// patient lets time pass while the Protocol waits for something that the recorded
// client did not wait for. What follows in the recording comes later by that much.
func (p *Player) patient(waits func() bool) {
	const patience = 2 * time.Minute
	from := p.now
	for waits() && !p.exited && !p.wake.IsZero() && !p.wake.After(from.Add(patience)) {
		p.advance(p.wake)
	}
	p.shift += p.now.Sub(from)
}

// Wait lets d pass, with every tick that the Protocol asks for, also when the
// transcript holds its own.
func (p *Player) Wait(d time.Duration) {
	p.ticks = false
	p.advance(p.now.Add(d))
}
