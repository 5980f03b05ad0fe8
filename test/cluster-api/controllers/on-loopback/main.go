// Command on-loopback brings the loopback interface up and becomes the program that its arguments name. It is the first
// program in a network namespace that unshare has made: there is nothing else than "lo" in it, and that is down.
package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// ifreq is the kernel's struct ifreq (netdevice(7)) with its flags.
type ifreq struct {
	name  [syscall.IFNAMSIZ]byte
	flags uint16
	_     [22]byte
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "on-loopback: %v\n", err)
		os.Exit(1)
	}
}

func run(command []string) error {
	if len(command) == 0 {
		return fmt.Errorf("no program to become")
	}
	if err := up("lo"); err != nil {
		return fmt.Errorf("bringing lo up: %w", err)
	}
	return syscall.Exec(command[0], command, os.Environ())
}

func up(name string) error {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	request := ifreq{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(request.name[:], name)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		return errno
	}
	return nil
}
