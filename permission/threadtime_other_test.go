//go:build !linux

package permission

import "time"

// threadTime is the wall clock where a thread's own cannot be read.
func threadTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
