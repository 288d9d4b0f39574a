package cuid2

import (
	"math"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var form = regexp.MustCompile(`^[a-z][0-9a-z]+$`)

func TestGenerateForm(t *testing.T) {
	for range 10_000 {
		id := Generate()
		if len(id) != DefaultIdLength || !form.MatchString(id) || !IsCuid(id) {
			t.Fatalf("Generate() = %q, want %d characters of the CUID2 form", id, DefaultIdLength)
		}
	}
}

func TestGenerateLengths(t *testing.T) {
	for length := MinIdLength; length <= MaxIdLength; length++ {
		generate, err := Init(WithLength(length))
		if err != nil {
			t.Fatalf("Init(WithLength(%d)): %v", length, err)
		}
		for range 200 {
			if id := generate(); len(id) != length || !IsCuid(id) {
				t.Fatalf("length %d: got %q", length, id)
			}
		}
	}
}

// TestCollisions makes 320,000 identifiers from eight goroutines and two
// generators; one repeated would be a fault, not bad luck (chance below 1e-25).
func TestCollisions(t *testing.T) {
	const workers, each = 8, 40_000
	other, err := Init()
	if err != nil {
		t.Fatal(err)
	}
	made := make([][]string, workers)
	var wg sync.WaitGroup
	for w := range workers {
		generate := Generate
		if w%2 == 1 {
			generate = other
		}
		wg.Go(func() {
			ids := make([]string, each)
			for i := range ids {
				ids[i] = generate()
			}
			made[w] = ids
		})
	}
	wg.Wait()
	seen := make(map[string]struct{}, workers*each)
	for _, ids := range made {
		for _, id := range ids {
			if _, again := seen[id]; again {
				t.Fatalf("identifier %q was made twice", id)
			}
			seen[id] = struct{}{}
		}
	}
}

// TestDistribution is the specification's histogram test: every digit is equally
// likely at every place. 36 digits over 23 places with 200,000 draws have an
// expected count of 5,555 and a standard deviation of 74; 8 of them is far
// outside of chance.
func TestDistribution(t *testing.T) {
	const draws = 200_000
	var counts [DefaultIdLength][256]int
	for range draws {
		id := Generate()
		for i := range len(id) {
			counts[i][id[i]]++
		}
	}
	check := func(place int, alphabet string) {
		want := float64(draws) / float64(len(alphabet))
		limit := 8 * math.Sqrt(want)
		for _, c := range []byte(alphabet) {
			if got := float64(counts[place][c]); math.Abs(got-want) > limit {
				t.Errorf("place %d: %q came %v times, want %v ± %v", place, c, got, want, limit)
			}
		}
	}
	check(0, digits[10:])
	for place := 1; place < DefaultIdLength; place++ {
		check(place, digits)
	}
}

func TestInputsMatter(t *testing.T) {
	zero := WithRandomFunc(func() float64 { return 0 })
	fixed := WithFingerprint("fingerprint")
	a, _ := Init(zero, fixed, WithSessionCounter(NewSessionCounter(0)))
	if first, second := a(), a(); first == second {
		t.Errorf("with a dead random function the counter must still tell identifiers apart, got %q twice", first)
	}
	stuck := WithSessionCounter(stuckCounter{})
	b, _ := Init(fixed, stuck)
	if first, second := b(), b(); first == second {
		t.Errorf("with a stuck counter the entropy must still tell identifiers apart, got %q twice", first)
	}
	if id := a(); id[0] != 'a' {
		t.Errorf("random function 0 gives the letter %q, want 'a'", id[0])
	}
	one, _ := Init(WithRandomFunc(func() float64 { return math.Nextafter(1, 0) }))
	if id := one(); id[0] != 'z' {
		t.Errorf("random function just below 1 gives the letter %q, want 'z'", id[0])
	}
}

type stuckCounter struct{}

func (stuckCounter) Increment() int64 { return 7 }

func TestBadRandomFunc(t *testing.T) {
	for _, value := range []float64{1, 2, -1, math.Inf(1), math.Inf(-1), math.NaN()} {
		generate, err := Init(WithRandomFunc(func() float64 { return value }))
		if err != nil {
			t.Fatal(err)
		}
		if id := generate(); !IsCuid(id) {
			t.Errorf("random function %v gives %q, want the CUID2 form", value, id)
		}
	}
}

func TestInitRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		option Option
		want   string
	}{
		{"too short", WithLength(MinIdLength - 1), "want 2 to 32, got 1"},
		{"too long", WithLength(MaxIdLength + 1), "want 2 to 32, got 33"},
		{"nil counter", WithSessionCounter(nil), "session counter"},
		{"nil random", WithRandomFunc(nil), "random function"},
	} {
		generate, err := Init(test.option)
		if err == nil || generate != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Init = %v, want an error with %q and no generator", test.name, err, test.want)
		}
	}
}

func TestSessionCounter(t *testing.T) {
	c := NewSessionCounter(41)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { c.Increment() })
	}
	wg.Wait()
	if got := c.Increment(); got != 142 {
		t.Errorf("Increment() = %d, want 142", got)
	}
}

func TestIsCuid(t *testing.T) {
	for _, test := range []struct {
		in   string
		want bool
	}{
		{"", false},
		{"a", false},
		{"a1", true},
		{"tz4a98xxat96iws9zmbrgj3a", true},
		{strings.Repeat("a", MaxIdLength), true},
		{strings.Repeat("a", MaxIdLength+1), false},
		{"1z4a98xxat96iws9zmbrgj3a", false},
		{"tz4a98xxat96iws9zmbrgj3A", false},
		{"tz4a98xxat96iws9zmbrgj3-", false},
		{"tz4a98xxat96iws9zmbrgj3\n", false},
		{"tz4a98xxat96iws9zmbrgjé", false},
	} {
		if got := IsCuid(test.in); got != test.want {
			t.Errorf("IsCuid(%q) = %v, want %v", test.in, got, test.want)
		}
	}
}

func FuzzIsCuid(f *testing.F) {
	f.Add("tz4a98xxat96iws9zmbrgj3a")
	f.Add("a\n")
	f.Fuzz(func(t *testing.T, s string) {
		want := len(s) >= MinIdLength && len(s) <= MaxIdLength && form.MatchString(s)
		if got := IsCuid(s); got != want {
			t.Errorf("IsCuid(%q) = %v, want %v", s, got, want)
		}
	})
}

func TestAllocations(t *testing.T) {
	generate, err := Init()
	if err != nil {
		t.Fatal(err)
	}
	generate()
	if got := testing.AllocsPerRun(1000, func() { generate() }); got > 1 {
		t.Errorf("an identifier costs %v allocations, want 1: its string", got)
	}
}

func BenchmarkGenerate(b *testing.B) {
	for b.Loop() {
		Generate()
	}
}

func BenchmarkGenerateParallel(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			Generate()
		}
	})
}

func BenchmarkIsCuid(b *testing.B) {
	id := Generate()
	for b.Loop() {
		IsCuid(id)
	}
}
