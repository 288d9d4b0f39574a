// Package layers holds the test that keeps the project's imports going one way.
// It has no code of its own.
package layers
