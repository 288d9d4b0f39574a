//go:build race

package proc

// raceDetector tells that the test binary carries the race detector's memory.
const raceDetector = true
