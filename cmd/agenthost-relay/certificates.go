package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// certificates is a certificate that is read again when its file changes, as it does
// every few weeks. It is safe for concurrent use.
type certificates struct {
	certFile, keyFile string

	mu     sync.Mutex
	cert   *tls.Certificate // guarded by mu
	read   time.Time        // guarded by mu; of the file that cert was read from
	looked time.Time        // guarded by mu
}

// lookEvery bounds how often the file is looked at.
const lookEvery = 10 * time.Second

func newCertificates(certFile, keyFile string) (*certificates, error) {
	c := &certificates{certFile: certFile, keyFile: keyFile}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// load reads the files. c.mu is held, or nobody has c yet.
func (c *certificates) load() error {
	info, err := os.Stat(c.certFile)
	if err != nil {
		return fmt.Errorf("--tls-cert: %w", err)
	}
	cert, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	c.cert, c.read, c.looked = &cert, info.ModTime(), time.Now()
	return nil
}

// get is for tls.Config. Files that cannot be read leave the certificate as it was:
// they may be half written.
func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) > lookEvery {
		c.looked = time.Now()
		if info, err := os.Stat(c.certFile); err == nil && !info.ModTime().Equal(c.read) {
			_ = c.load()
		}
	}
	return c.cert, nil
}
