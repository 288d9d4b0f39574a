package daemon

import (
	"os"
	"strings"
)

// Machine tells a machine, and a run of it, from others.
type Machine struct {
	// ID stays, Boot changes with each boot. Name is for people.
	ID, Boot, Name string
}

// thisMachine asks the system. Where it has no id its name has to do.
func thisMachine() Machine {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	m := Machine{ID: name, Name: name}
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if data, err := os.ReadFile(path); err == nil && len(strings.TrimSpace(string(data))) > 0 {
			// Containers of one image share the file, so the name belongs to it.
			m.ID = strings.TrimSpace(string(data)) + "/" + name
			break
		}
	}
	if data, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		m.Boot = strings.TrimSpace(string(data))
	}
	return m
}
