import { PythonError, type PythonTool, pythonTool } from './venv.ts';

/**
 * Finds (and installs, once) a Python program that a suite needs. Await it at the top level of a test file. Where it cannot be had it says so on
 * stderr, because a suite must not vanish silently.
 *
 * @param suite what is skipped without it, for the message
 * @throws PythonError under `CERTMARSHAL_REQUIRE_REAL=1` instead of reporting it missing
 */
export async function tool(
  suite: string,
  wanted: PythonTool,
): Promise<{ readonly bin: string; readonly missing: string | undefined }> {
  try {
    return { bin: await pythonTool(wanted), missing: undefined };
  } catch (error) {
    if (!(error instanceof PythonError) || process.env['CERTMARSHAL_REQUIRE_REAL'] === '1') throw error;
    process.stderr.write(`\nSKIPPED: ${suite}\n  ${error.message}\n`);
    return { bin: '', missing: error.message };
  }
}
