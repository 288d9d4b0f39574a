package contract

import (
	"slices"
	"strings"
)

// The closed lists of values, in the order of their declaration. The JSON
// Schema is generated from them.

func roles() []Role { return []Role{RoleUser, RoleAgent} }

func turnStatuses() []TurnStatus { return []TurnStatus{TurnCompleted, TurnFailed, TurnCancelled} }

func toolStatuses() []ToolStatus { return []ToolStatus{ToolCompleted, ToolError, ToolCancelled} }

func changeStatuses() []ChangeStatus {
	return []ChangeStatus{ChangeAdded, ChangeModified, ChangeDeleted, ChangeRenamed}
}

func serviceKinds() []ServiceKind {
	return []ServiceKind{ServiceNotice, ServiceError, ServiceRetry, ServiceReconnect, ServiceCompaction}
}

func clientTypes() []ClientType {
	return []ClientType{ClientCLI, ClientPhone, ClientBrowser, ClientDaemon}
}

func decisions() []Decision { return []Decision{AllowOnce, AllowAlways, RejectOnce, RejectAlways} }

func resolvers() []Resolver {
	return []Resolver{ByPolicy, ByRemembered, ByClient, ByTimeout, ByTurnEnd, ByExit, ByHost}
}

// permissionModes is closed in the strict profile only.
func permissionModes() []PermissionMode {
	return []PermissionMode{ModeDefault, ModeAcceptEdits, ModeBypassPermissions, ModePlan}
}

func oneOf[S ~string](v S, values []S) bool { return slices.Contains(values, v) }

// listed renders values for an error.
func listed[S ~string](values []S) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return "one of " + strings.Join(texts, ", ")
}
