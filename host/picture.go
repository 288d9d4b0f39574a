package host

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"net/http"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/thumbhash"
)

// maxPixels is the largest picture that is decoded for its placeholder: what a
// decoder needs memory for is its size, not that of the file.
const maxPixels = 64 << 20

// picture describes a file that is a picture, nil for any other. One in a form that
// is not known here, or that is broken, counts as none.
func picture(content []byte) *contract.Image {
	config, decode := png.DecodeConfig, png.Decode
	switch http.DetectContentType(content) {
	case "image/png":
	case "image/jpeg":
		config, decode = jpeg.DecodeConfig, jpeg.Decode
	case "image/gif":
		config, decode = gif.DecodeConfig, gif.Decode
	default:
		return nil
	}
	c, err := config(bytes.NewReader(content))
	if err != nil || c.Width <= 0 || c.Height <= 0 || c.Width > maxPixels/c.Height {
		return nil
	}
	img, err := decode(bytes.NewReader(content))
	if err != nil {
		return nil
	}
	return &contract.Image{Width: c.Width, Height: c.Height, Thumbhash: thumb(img)}
}

func thumb(img image.Image) string { return base64.StdEncoding.EncodeToString(thumbhash.Of(img)) }
