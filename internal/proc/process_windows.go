package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// job is a process in a job object, which holds all it starts and ends them when
// its last handle closes, also when this program is killed. What the process
// starts between its creation and its assignment to the job isn't in it.
type job struct {
	mu      sync.Mutex
	process *os.Process
	handle  windows.Handle // 0 when closed; guarded by mu
	finish  func(Exit)
	once    sync.Once
}

func (p *Process) start(_ context.Context, l Launch) error {
	handle, err := newJob()
	if err != nil {
		return fmt.Errorf("creating a job: %w", err)
	}
	process, err := os.StartProcess(l.Argv[0], l.Argv, &os.ProcAttr{
		Dir: l.Dir, Env: l.Env, Files: []*os.File{l.Stdin, l.Stdout, l.Stderr},
		Sys: &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP},
	})
	if err != nil {
		_ = windows.CloseHandle(handle)
		return err
	}
	if err := assign(handle, process.Pid); err != nil {
		_ = process.Kill()
		_, _ = process.Wait()
		_ = windows.CloseHandle(handle)
		return fmt.Errorf("assigning a process to its job: %w", err)
	}
	j := &job{process: process, handle: handle, finish: p.finish}
	p.pid, p.tree = process.Pid, j
	go j.wait()
	return nil
}

func newJob() (windows.Handle, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		_ = windows.CloseHandle(handle)
		return 0, err
	}
	return handle, nil
}

func assign(job windows.Handle, pid int) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	return windows.AssignProcessToJobObject(job, process)
}

func (j *job) wait() {
	state, err := j.process.Wait()
	j.mu.Lock()
	_ = windows.TerminateJobObject(j.handle, 1)
	_ = windows.CloseHandle(j.handle)
	j.handle = 0
	j.mu.Unlock()
	exit := Exit{Code: -1, Err: ErrLost}
	if err == nil {
		exit = Exit{Code: state.ExitCode()}
	}
	j.once.Do(func() { j.finish(exit) })
}

// terminate sends CTRL_BREAK, which reaches console programs that share our
// console only; there is no other polite way.
func (j *job) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(j.process.Pid))
}

// hangUp is terminate: there are no terminals to hang up.
func (j *job) hangUp() { j.terminate() }

func (j *job) kill() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle != 0 {
		_ = windows.TerminateJobObject(j.handle, 1)
	}
}

func (j *job) forsake() {
	j.once.Do(func() { j.finish(Exit{Code: -1, Err: fmt.Errorf("%w: it did not end", ErrLost)}) })
}

// explain wraps the system's answer, which says what is wrong.
func explain(err error, l Launch) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	return &StartError{Path: l.Argv[0], Err: errno}
}
