module github.com/nrednav/cuid2

go 1.27.0
