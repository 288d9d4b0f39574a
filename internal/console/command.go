package console

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// signalled is what happened to the terminal or to this process.
func (c *console) signalled(ctx context.Context, o occasion) error {
	switch o {
	case resized:
		cols, rows := c.tty.Size()
		if cols == c.cols && rows == c.rows {
			return nil
		}
		c.cols, c.rows = cols, rows
		c.claim()
		if !c.plain {
			c.mirror.shown, c.dirty = nil, true
		}
		return c.tend(ctx)
	case stopped:
		return c.suspend(ctx)
	case continued:
		return c.goOn(ctx)
	case nothing:
	}
	return nil
}

// suspend stops this process, with the terminal as it was, until it goes on.
func (c *console) suspend(ctx context.Context) error {
	if err := c.write(c.aside(true)); err != nil {
		return err
	}
	c.tty.cooked()
	c.t.Answers(false)
	woken := suspend()
	if err := c.goOn(ctx); err != nil || woken {
		return err
	}
	return c.tell(ctx, "nobody is there to wake this program when it is stopped: no shell with job control started it")
}

// goOn takes the terminal again, in whatever state it is, and draws all anew.
func (c *console) goOn(ctx context.Context) error {
	if err := c.tty.raw(); err != nil {
		return errGone
	}
	c.t.Answers(c.plain)
	c.cols, c.rows = c.tty.Size()
	c.claim()
	if !c.plain {
		c.dirty, c.painted = true, time.Time{}
		if err := c.write([]byte(c.mirror.on())); err != nil {
			return err
		}
		return c.tend(ctx)
	}
	c.read(ctx, c.whole())
	return nil
}

// aside is what leaves the person's terminal in order: its modes as at first, and below
// says that what is printed next stands below what the agent showed.
func (c *console) aside(below bool) []byte {
	if !c.plain {
		b := []byte(c.mirror.off())
		if c.passed {
			b = append(b, c.bottom()...)
		}
		return b
	}
	alt, touched := c.modes.alt != 0, c.modes.changed()
	b := c.modes.restore()
	if c.passed && !alt && (below || touched) {
		b = append(b, c.bottom()...)
	}
	return b
}

func (c *console) bottom() string { return fmt.Sprintf("\x1b[%d;1H\r\n", c.rows) }

// bye leaves the terminal. One that takes nothing is not waited for.
func (c *console) bye(end End) {
	if c.stopRead != nil {
		c.stopRead()
	}
	b := c.aside(end != Over && end != Quit)
	began := time.Now()
	_ = c.tty.write(b, func() bool { return time.Since(began) > byeTime }) // it is gone
}

// commanded is a command behind the escape key; 0 is a key for the agent.
func (c *console) commanded(ctx context.Context, b byte) (End, error) {
	if b == 0 {
		if c.last.Held && !c.fits() {
			c.claim() // who types has the size
		}
		c.hintUntil = time.Time{}
		return 0, c.tend(ctx)
	}
	again := c.ending
	c.ending = false
	switch b {
	case 'd':
		if !c.opts.Alone {
			return Detached, nil
		}
		return 0, c.tell(ctx, "no daemon keeps this session, so it cannot be left: "+c.key('q')+" ends it")
	case 'q':
		if again {
			return Quit, nil
		}
		c.ending = true
		return 0, c.tell(ctx, c.key('q')+" once more ends the session and its agent")
	case 'z':
		return 0, c.suspend(ctx)
	case 't':
		switch {
		case c.opts.Watch:
			return 0, c.tell(ctx, "you are watching: agenthost attach without --watch may type")
		case c.last.Lost != "":
			return 0, c.tell(ctx, c.last.Lost)
		case c.last.Held:
			return 0, c.tell(ctx, "you hold control already")
		}
		c.taking = true
		c.out.take()
		return 0, nil
	}
	return 0, c.tell(ctx, c.help())
}

// allCommanded takes the keys that came before a hint of others: it may come of them.
func (c *console) allCommanded(ctx context.Context) (End, error) {
	for {
		select {
		case b := <-c.events:
			if end, err := c.commanded(ctx, b); end != 0 || err != nil {
				return end, err
			}
		default:
			return 0, nil
		}
	}
}

func (c *console) help() string {
	keys := []string{"d leaves", "z stops this program", "q ends the session"}
	if c.opts.Alone {
		keys = keys[1:]
	}
	if !c.last.Held && !c.opts.Watch && c.last.Lost == "" {
		keys = append(keys, "t takes control")
	}
	return EscapeName(c.opts.Escape) + " and then: " + strings.Join(keys, ", ") + ", " + EscapeName(c.opts.Escape) + " is itself"
}

// tell shows a hint for a moment.
func (c *console) tell(ctx context.Context, hint string) error {
	c.hint, c.hintUntil, c.dirty, c.painted = hint, time.Now().Add(hintTime), true, time.Time{}
	return c.tend(ctx)
}

// status is the line at the bottom of the mirror.
func (c *console) status() string {
	leave := c.key('d') + " leaves"
	switch {
	case c.hint != "":
		return c.hint
	case c.last.Lost != "":
		return c.last.Lost + " - " + leave
	case c.opts.Watch:
		return "watching - " + leave
	case !c.last.Held:
		who := c.last.Holder
		if who == "" {
			who = "nobody"
		}
		return who + " holds control - " + c.key('t') + " takes it, " + leave
	}
	return fmt.Sprintf("the screen has %dx%d: a key gives it the size of this terminal - %s", c.last.Cols, c.last.Rows, leave)
}

func (c *console) key(b byte) string { return EscapeName(c.opts.Escape) + " " + string(rune(b)) }

// EscapeName is how an escape key is called: "ctrl-]".
func EscapeName(b byte) string { return "ctrl-" + strings.ToLower(string(rune(b+0x40))) }

// ParseEscape is the key of a name as EscapeName makes them, or of ^X.
func ParseEscape(s string) (byte, error) {
	rest, ok := strings.CutPrefix(strings.ToLower(s), "ctrl-")
	if !ok {
		rest, ok = strings.CutPrefix(strings.ToLower(s), "^")
	}
	if !ok || len(rest) != 1 {
		return 0, fmt.Errorf("want a key like ctrl-], got %q", s)
	}
	b := rest[0]
	if b >= 'a' && b <= 'z' {
		b -= 'a' - 'A'
	}
	b -= 0x40
	if b == 0 || b > 0x1f || b == 0x1b || b == 0x0d || b == 0x0a || b == 0x09 {
		return 0, fmt.Errorf("want a key like ctrl-] that is not Enter, Tab or Escape, got %q", s)
	}
	return b, nil
}
