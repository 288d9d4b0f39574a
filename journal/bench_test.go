package journal_test

import (
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/journal"
)

func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct {
		name   string
		policy journal.SyncPolicy
		batch  int
	}{
		{"off/1", journal.SyncOff, 1},
		{"interval/1", journal.SyncInterval, 1},
		{"interval/64", journal.SyncInterval, 64},
		{"always/1", journal.SyncAlways, 1},
		{"always/64", journal.SyncAlways, 64},
	} {
		b.Run(c.name, func(b *testing.B) {
			j, err := journal.Open(b.TempDir(), journal.Options{Sync: c.policy})
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close()
			batch := envs(0, c.batch)
			b.ResetTimer()
			for range b.N {
				if _, err := j.Append(batch...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*c.batch)/b.Elapsed().Seconds(), "envelopes/s")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	j, err := journal.Open(b.TempDir(), journal.Options{Sync: journal.SyncOff})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	const total = 10_000
	if _, err := j.Append(envs(0, total)...); err != nil {
		b.Fatal(err)
	}
	var e contract.Envelope
	b.ResetTimer()
	for range b.N {
		for r, err := range j.Read(0, total) {
			if err != nil {
				b.Fatal(err)
			}
			e = r.Envelope
		}
	}
	_ = e
	b.ReportMetric(float64(b.N*total)/b.Elapsed().Seconds(), "envelopes/s")
}
