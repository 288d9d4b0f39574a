package gateway

import (
	"context"
	"errors"
	"iter"
	"testing"
)

// A stream that ends because the server stops was not at its end.
func TestPullStopped(t *testing.T) {
	why := errors.New("stopping")
	ctx, stop := context.WithCancelCause(t.Context())
	p, err := pull(ctx, nil, func(ctx context.Context) (iter.Seq2[Item, error], error) {
		return func(func(Item, error) bool) { <-ctx.Done() }, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	stop(why)
	if items, over, err := p.take(context.Background(), 0); len(items) > 0 || !over || !errors.Is(err, why) {
		t.Errorf("take = %v, %v, %v, want the end with %v", items, over, err, why)
	}
}
