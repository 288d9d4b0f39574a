package main

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/render"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/redact"
)

// junitSink prints a run as a JUnit report, which CI systems show: a test suite for
// the run and a test case for each turn, with what was said and done in it. The
// report is written when the session is over. Secrets are kept out of all of it.
type junitSink struct {
	w       io.Writer
	secrets *redact.Redactor
	class   string
	suite   junitSuite

	text    *render.Text
	log     *bytes.Buffer     // what text wrote of the turn
	prompts map[string]string // texts that wait for their turn, by id
	begun   contract.Envelope // the open turn's start; its ID is empty for none
	name    string            // of the open turn
	aborted bool
	trouble string // the newest error that was told outside of turns
	first   int64  // time of the first envelope, Unix ms
	last    int64
}

// The report's elements, as CI systems agree on them.
type junitReport struct {
	XMLName xml.Name   `xml:"testsuites"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Time    string      `xml:"time,attr"`
	Failure *junitFault `xml:"failure"`
	Error   *junitFault `xml:"error"`
	Skipped *junitFault `xml:"skipped"`
	Out     string      `xml:"system-out,omitempty"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// newJUnitSink is for a session of an agent.
func newJUnitSink(w io.Writer, agent, session string, secrets *redact.Redactor) *junitSink {
	log := &bytes.Buffer{}
	return &junitSink{
		w: w, secrets: secrets, class: "agenthost." + agent, log: log, prompts: map[string]string{},
		text: render.NewText(log, log, render.Options{Terminal: true}),
		suite: junitSuite{
			Name: "agenthost run " + agent, Properties: []junitProperty{{"agent", agent}, {"session", session}},
		},
	}
}

func (s *junitSink) delta(host.Delta) error { return nil }
func (s *junitSink) prompt() error          { return nil }

func (s *junitSink) envelope(it host.Item) error {
	e := it.Envelope
	s.first, s.last = cmp.Or(s.first, e.Time), e.Time
	if err := s.text.Envelope(e); err != nil {
		return err
	}
	switch ev := e.Event.(type) {
	case contract.Text:
		if e.Role == contract.RoleUser && !ev.Steer {
			s.prompts[e.ID] = ev.Text
		}
	case contract.TurnStart:
		s.turnStart(e, ev)
	case contract.Abort:
		s.aborted = true
	case contract.Service:
		if ev.Kind == contract.ServiceError && s.begun.ID == "" {
			s.trouble = ev.Text
		}
	case contract.TurnEnd:
		return s.turnEnd(e, ev)
	}
	return nil
}

func (s *junitSink) turnStart(e contract.Envelope, ev contract.TurnStart) {
	s.begun, s.aborted, s.trouble = e, false, ""
	s.name = fmt.Sprintf("turn %d", len(s.suite.Cases)+1)
	for _, id := range ev.Prompts {
		if line := present.Line(s.prompts[id]); line != "" {
			s.name += ": " + line
		}
		delete(s.prompts, id)
	}
}

func (s *junitSink) turnEnd(e contract.Envelope, ev contract.TurnEnd) error {
	if err := s.text.Close(); err != nil {
		return err
	}
	c := junitCase{
		Class: s.class, Name: s.secrets.String(s.name), Time: seconds(e.Time - s.begun.Time),
		Out: s.secrets.String(strings.TrimRight(s.log.String(), "\n")),
	}
	s.log.Reset()
	s.begun = contract.Envelope{}
	switch {
	case ev.Status == contract.TurnCompleted:
	case ev.Status == contract.TurnCancelled && s.aborted:
		c.Skipped = &junitFault{Message: "the turn was aborted"}
		s.suite.Skipped++
	default:
		c.Failure = s.fault("the turn was "+string(ev.Status), ev.Error)
		s.suite.Failures++
	}
	s.suite.Cases = append(s.suite.Cases, c)
	return nil
}

// fault is what went wrong; said stands for it when there is no error.
func (s *junitSink) fault(said string, err *contract.Error) *junitFault {
	if err == nil {
		return &junitFault{Message: said}
	}
	message := s.secrets.String(err.Message)
	return &junitFault{Message: present.Line(message), Type: string(err.Code), Text: message}
}

// close writes the report. A session that had no turn because something went wrong
// has a test case that says what: an empty suite would pass.
func (s *junitSink) close() error {
	if s.trouble != "" {
		s.suite.Cases = append(s.suite.Cases, junitCase{
			Class: s.class, Name: "session", Time: seconds(0),
			Error: s.fault("", &contract.Error{Message: s.trouble}),
		})
		s.suite.Errors++
	}
	s.suite.Tests, s.suite.Time = len(s.suite.Cases), seconds(s.last-s.first)
	if s.first != 0 {
		s.suite.Timestamp = time.UnixMilli(s.first).UTC().Format("2006-01-02T15:04:05")
	}
	report, err := xml.MarshalIndent(junitReport{Suite: s.suite}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.w, "%s%s\n", xml.Header, report)
	return err
}

// seconds writes milliseconds as CI systems read them.
func seconds(ms int64) string { return fmt.Sprintf("%.3f", float64(max(ms, 0))/1000) }
