package permission

import "github.com/agenthost/agenthost/permission/grant"

// Scope is how far a grant reaches.
type Scope = grant.Scope

// The scopes of grants.
const (
	ScopeSession = grant.Session
	ScopeProject = grant.Project
	ScopeUser    = grant.User
)
