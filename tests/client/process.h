// Runs programs as a user does: with arguments and standard input; returns exit status, output and errors.

#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

extern char** environ;

namespace salient {

struct ProcessResult {
  int exit_status = -1;
  std::string out, err;
};

class Process {
 public:
  explicit Process(const std::vector<std::string>& arguments, const std::string& input = "") {
    WriteFile(folder_ / "in", input);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, (folder_ / "in").c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, (folder_ / "out").c_str(), O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, (folder_ / "err").c_str(), O_WRONLY | O_CREAT, 0600);
    std::vector<char*> argv;
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ), 0) << arguments[0];
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Process() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    Wait();
  }

  void Signal(int number) { kill(pid_, number); }

  bool HasEnded() const {
    siginfo_t info = {};
    return waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
  }

  // Until the program has written the file, such as a server's --ready-file. False: it has ended without.
  bool WaitForFile(const std::string& path) const {
    while (ReadFile(path).empty()) {
      if (HasEnded()) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }

  ProcessResult Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return {.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            .out = ReadFile(folder_ / "out"),
            .err = err()};
  }

  std::string err() const { return ReadFile(folder_ / "err"); }

 private:
  TempFolder folder_;
  pid_t pid_ = 0;
};

inline ProcessResult RunProgram(const std::vector<std::string>& arguments, const std::string& input = "") {
  return Process(arguments, input).Wait();
}

}  // namespace salient
