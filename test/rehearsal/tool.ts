import { ToolError } from '../control-plane/cache.ts';
import { skip } from '../control-plane/real.ts';

/**
 * Finds (and installs, once) a tool that a suite needs. Await it at the top level of a test file.
 *
 * @param suite what is skipped without it, for the message: see {@link skip}
 * @param install gives the path of the tool
 */
export async function tool(
  suite: string,
  install: () => Promise<string>,
): Promise<{ readonly path: string; readonly missing: string | undefined }> {
  try {
    return { path: await install(), missing: undefined };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    skip(suite, error.message);
    return { path: '', missing: error.message };
  }
}
