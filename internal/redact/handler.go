package redact

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
)

// handler is a slog.Handler that redacts.
type handler struct {
	next slog.Handler
	r    *Redactor
}

// Handler makes a slog.Handler that gives next every record without secrets, in
// the message and in attributes of any kind; values that are neither numbers,
// times nor booleans reach next as text.
func Handler(next slog.Handler, r *Redactor) slog.Handler { return handler{next, r} }

func (h handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h handler) Handle(ctx context.Context, rec slog.Record) error {
	clean := slog.NewRecord(rec.Time, rec.Level, h.r.String(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	attrs = slices.Clone(attrs)
	for i := range attrs {
		attrs[i] = h.attr(attrs[i])
	}
	return handler{h.next.WithAttrs(attrs), h.r}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.next.WithGroup(name), h.r} }

// attr redacts one attribute; one with a secret's name is masked whole.
func (h handler) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		group := slices.Clone(v.Group())
		for i := range group {
			group[i] = h.attr(group[i])
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(group...)}
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindTime, slog.KindUint64:
		return slog.Attr{Key: a.Key, Value: v}
	case slog.KindString:
		if v.String() == "" {
			return slog.Attr{Key: a.Key, Value: v}
		}
	}
	if SecretName(a.Key) {
		return slog.String(a.Key, Mask)
	}
	if v.Kind() == slog.KindString {
		return slog.String(a.Key, h.r.String(v.String()))
	}
	return slog.String(a.Key, h.r.String(fmt.Sprint(v.Any())))
}
