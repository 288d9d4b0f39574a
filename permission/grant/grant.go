package grant

import (
	"fmt"
	"time"
)

// Scope is how far a grant reaches.
type Scope string

// The scopes.
const (
	// Session: the session it was given in.
	Session Scope = "session"
	// Project: every session in the same directory.
	Project Scope = "project"
	// User: every session of this user.
	User Scope = "user"
)

// ParseScope reads a scope; "" is Project.
func ParseScope(s string) (Scope, error) {
	switch Scope(s) {
	case "":
		return Project, nil
	case Session, Project, User:
		return Scope(s), nil
	}
	return "", fmt.Errorf("want scope session, project or user, got %q", s)
}

// Grant is a remembered allow-always.
type Grant struct {
	ID    string `json:"id"`
	Scope Scope  `json:"scope"`
	// In is the session's id or the project's directory, empty for User.
	In string `json:"in,omitzero"`
	// Tool is the canonical tool, Key what is allowed in the form that asks are
	// compared in, Covers the same for people.
	Tool   string `json:"tool"`
	Key    string `json:"key"`
	Covers string `json:"covers"`
	// Origin says who gave it, and where.
	Origin Origin `json:"origin"`
	// Created and Expires are UTC; a zero Expires is never.
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	// Uses counts the asks it answered, Used is when it last did.
	Uses int       `json:"uses,omitzero"`
	Used time.Time `json:"used,omitzero"`
}

// Origin is where a grant comes from.
type Origin struct {
	Session    string `json:"session,omitzero"`
	Agent      string `json:"agent,omitzero"`
	ClientType string `json:"clientType,omitzero"`
	TokenID    string `json:"tokenId,omitzero"`
	// Cwd is the session's directory when it was given.
	Cwd string `json:"cwd,omitzero"`
}
