// Package thumbhash makes ThumbHash placeholders: some 25 bytes that show what a
// picture looks like before it is there (https://evanw.github.io/thumbhash/).
//
// # Guarantees
//
// Equal pictures give equal hashes. Any picture with at least one pixel has one;
// its size costs one pass over its pixels.
//
// # Testing
//
// go test ./internal/thumbhash reads the hashes again and compares what they say.
package thumbhash

import (
	"image"
	"math"
)

// side is the longest side that is looked at: more changes nothing of a hash.
const side = 100

// Of is the hash of a picture. A picture without pixels has none: nil.
func Of(img image.Image) []byte {
	w, h, px := shrink(img)
	if w == 0 || h == 0 {
		return nil
	}
	return encode(w, h, px)
}

// pixel has its colours not multiplied by alpha; all are from 0 to 1.
type pixel struct{ r, g, b, a float64 }

// shrink gives a picture of at most side pixels a side, each the mean of those it
// stands for.
func shrink(img image.Image) (w, h int, px []pixel) {
	b := img.Bounds()
	sw, sh := b.Dx(), b.Dy()
	if sw <= 0 || sh <= 0 {
		return 0, 0, nil
	}
	scale := max(1, float64(max(sw, sh))/side)
	w, h = max(1, int(float64(sw)/scale)), max(1, int(float64(sh)/scale))
	px = make([]pixel, w*h)
	for y := range h {
		y0, y1 := y*sh/h, max((y+1)*sh/h, y*sh/h+1)
		for x := range w {
			x0, x1 := x*sw/w, max((x+1)*sw/w, x*sw/w+1)
			px[y*w+x] = mean(img, image.Rect(b.Min.X+x0, b.Min.Y+y0, b.Min.X+x1, b.Min.Y+y1))
		}
	}
	return w, h, px
}

func mean(img image.Image, in image.Rectangle) pixel {
	var r, g, b, a float64
	for y := in.Min.Y; y < in.Max.Y; y++ {
		for x := in.Min.X; x < in.Max.X; x++ {
			cr, cg, cb, ca := img.At(x, y).RGBA() // multiplied by alpha
			r, g, b, a = r+float64(cr), g+float64(cg), b+float64(cb), a+float64(ca)
		}
	}
	if a == 0 {
		return pixel{}
	}
	return pixel{r / a, g / a, b / a, a / (65535 * float64(in.Dx()*in.Dy()))}
}

// channel is one plane of the picture, and what a cosine transform makes of it.
type channel struct {
	values []float64
	dc     float64
	ac     []float64 // from 0 to 1
	scale  float64
}

func encode(w, h int, px []pixel) []byte {
	var avg pixel
	for _, p := range px {
		avg.r, avg.g, avg.b, avg.a = avg.r+p.r*p.a, avg.g+p.g*p.a, avg.b+p.b*p.a, avg.a+p.a
	}
	if avg.a > 0 {
		avg.r, avg.g, avg.b = avg.r/avg.a, avg.g/avg.a, avg.b/avg.a
	}
	hasAlpha := avg.a < float64(w*h)-1e-6
	n := len(px)
	l, p, q, a := newChannel(n), newChannel(n), newChannel(n), newChannel(n)
	for i, c := range px {
		// Laid over the mean colour.
		r, g, b := avg.r*(1-c.a)+c.a*c.r, avg.g*(1-c.a)+c.a*c.g, avg.b*(1-c.a)+c.a*c.b
		l.values[i], p.values[i], q.values[i], a.values[i] = (r+g+b)/3, (r+g)/2-b, r-g, c.a
	}
	most := 7.0
	if hasAlpha {
		most = 5 // alpha needs room
	}
	longest := float64(max(w, h))
	lx, ly := max(1, round(most*float64(w)/longest)), max(1, round(most*float64(h)/longest))
	l.transform(w, h, max(3, lx), max(3, ly))
	p.transform(w, h, 3, 3)
	q.transform(w, h, 3, 3)
	head := round(63*l.dc) | round(31.5+31.5*p.dc)<<6 | round(31.5+31.5*q.dc)<<12 | round(31*l.scale)<<18
	sides := lx
	if w > h {
		sides = ly | 1<<15
	}
	tail := sides | round(63*p.scale)<<3 | round(63*q.scale)<<9
	planes := []*channel{l, p, q}
	if hasAlpha {
		a.transform(w, h, 5, 5)
		head |= 1 << 23
		planes = append(planes, a)
	}
	hash := []byte{byte(head), byte(head >> 8), byte(head >> 16), byte(tail), byte(tail >> 8)}
	if hasAlpha {
		hash = append(hash, byte(round(15*a.dc)|round(15*a.scale)<<4))
	}
	return pack(hash, planes)
}

// pack adds the varying terms of the planes, half a byte each.
func pack(hash []byte, planes []*channel) []byte {
	half := false
	for _, c := range planes {
		for _, f := range c.ac {
			v := byte(round(15 * f))
			if half {
				hash[len(hash)-1] |= v << 4
			} else {
				hash = append(hash, v)
			}
			half = !half
		}
	}
	return hash
}

func newChannel(n int) *channel { return &channel{values: make([]float64, n)} }

// transform is the cosine transform of which the first nx by ny terms are kept,
// without those beyond the diagonal.
func (c *channel) transform(w, h, nx, ny int) {
	fx := make([]float64, w)
	for cy := range ny {
		for cx := 0; cx*ny < nx*(ny-cy); cx++ {
			for x := range w {
				fx[x] = math.Cos(math.Pi / float64(w) * float64(cx) * (float64(x) + 0.5))
			}
			f := 0.0
			for y := range h {
				fy := math.Cos(math.Pi / float64(h) * float64(cy) * (float64(y) + 0.5))
				for x := range w {
					f += c.values[x+y*w] * fx[x] * fy
				}
			}
			f /= float64(w * h)
			if cx == 0 && cy == 0 {
				c.dc = f
				continue
			}
			c.ac = append(c.ac, f)
			c.scale = max(c.scale, math.Abs(f))
		}
	}
	for i := range c.ac {
		if c.scale > 0 {
			c.ac[i] = 0.5 + 0.5/c.scale*c.ac[i]
		}
	}
}

// round is to the nearest, halves up, as the reference does it.
func round(f float64) int { return int(math.Floor(f + 0.5)) }
