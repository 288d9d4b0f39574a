package thumbhash

import (
	"bytes"
	"image"
	"image/color"
	"math"
	"testing"
)

func fill(w, h int, at func(x, y int) color.Color) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, at(x, y))
		}
	}
	return img
}

func one(c color.Color) func(int, int) color.Color { return func(int, int) color.Color { return c } }

// mean5 reads the mean colour out of a hash, as a viewer does.
func mean5(hash []byte) (r, g, b float64) {
	head := int(hash[0]) | int(hash[1])<<8 | int(hash[2])<<16
	l := float64(head&63) / 63
	p := float64(head>>6&63)/31.5 - 1
	q := float64(head>>12&63)/31.5 - 1
	b = l - 2.0/3.0*p
	r = (3*l - b + q) / 2
	return r, r - q, b
}

func TestOf(t *testing.T) {
	for name, tc := range map[string]struct {
		img     image.Image
		r, g, b float64
		alpha   bool
		size    int
	}{
		"grey":      {fill(10, 10, one(color.Gray{128})), 0.5, 0.5, 0.5, false, 5 + 18},
		"red":       {fill(300, 300, one(color.NRGBA{255, 0, 0, 255})), 1, 0, 0, false, 5 + 18},
		"one pixel": {fill(1, 1, one(color.NRGBA{0, 0, 255, 255})), 0, 0, 1, false, 0},
		"half there": {fill(64, 64, func(x, _ int) color.Color {
			return color.NRGBA{0, 255, 0, uint8(255 * (x / 32))}
		}), 0, 1, 0, true, 0},
		"wide": {fill(2000, 10, one(color.White)), 1, 1, 1, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			hash := Of(tc.img)
			if tc.size > 0 && len(hash) > tc.size+10 || len(hash) < 5 || len(hash) > 40 {
				t.Fatalf("the hash has %d bytes", len(hash))
			}
			r, g, b := mean5(hash)
			if math.Abs(r-tc.r) > 0.05 || math.Abs(g-tc.g) > 0.05 || math.Abs(b-tc.b) > 0.05 {
				t.Errorf("the mean colour is %.2f %.2f %.2f, want %.2f %.2f %.2f", r, g, b, tc.r, tc.g, tc.b)
			}
			if alpha := hash[2]>>7 == 1; alpha != tc.alpha {
				t.Errorf("alpha = %v, want %v", alpha, tc.alpha)
			}
			if landscape := hash[4]>>7 == 1; landscape != (tc.img.Bounds().Dx() > tc.img.Bounds().Dy()) {
				t.Errorf("landscape = %v for %v", landscape, tc.img.Bounds())
			}
			if !bytes.Equal(hash, Of(tc.img)) {
				t.Error("the same picture gave another hash")
			}
		})
	}
	if got := Of(image.NewNRGBA(image.Rect(0, 0, 0, 5))); got != nil {
		t.Errorf("Of(no pixels) = %v, want nil", got)
	}
}

// TestMirror: what is left and what is right is told apart.
func TestMirror(t *testing.T) {
	left := fill(40, 20, func(x, _ int) color.Color { return color.Gray{uint8(6 * x)} })
	right := fill(40, 20, func(x, _ int) color.Color { return color.Gray{uint8(6 * (39 - x))} })
	if bytes.Equal(Of(left), Of(right)) {
		t.Error("a picture and its mirror image have one hash")
	}
}
