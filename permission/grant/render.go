package grant

import (
	"encoding/json/v2"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteText writes grants as a table for people: what agenthost grants list shows.
func WriteText(w io.Writer, list []Grant, now time.Time) error {
	if len(list) == 0 {
		_, err := io.WriteString(w, "no grants\n")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tSCOPE\tTOOL\tCOVERS\tFROM\tUSED\tEXPIRES")
	for _, g := range list {
		where := string(g.Scope)
		if g.In != "" {
			where += " " + g.In
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", g.ID, line(where), line(g.Tool), line(g.Covers), line(g.origin()), g.used(), expiry(g.Expires, now))
	}
	return t.Flush()
}

// WriteJSON writes grants as one JSON array and a line end.
func WriteJSON(w io.Writer, list []Grant) error {
	if list == nil {
		list = []Grant{}
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

func (g Grant) origin() string {
	parts := []string{}
	for _, s := range []string{g.Origin.ClientType, g.Origin.TokenID, g.Origin.Agent, g.Created.Format("2006-01-02 15:04")} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ", ")
}

func (g Grant) used() string {
	if g.Uses == 0 {
		return "never"
	}
	return fmt.Sprintf("%d×, last %s", g.Uses, g.Used.Format("2006-01-02 15:04"))
}

func expiry(at, now time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return "in " + at.Sub(now).Round(time.Minute).String()
}

// line keeps a cell on one line and free of control characters.
func line(s string) string {
	const most = 200
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}
