// stdin, stdout and stderr as this process finds and leaves them.
#pragma once

namespace qtx::cli {

/// Opens which of the three are closed, so that their use is an error: else the next file that the
/// program opens takes their place.
void OpenStandardStreams();

/// `status`; kInternal with a line on stderr if stdout does not take all that was printed.
int FlushStdout(int status);

}  // namespace qtx::cli
