import { ToolError } from './install-once.ts';

/**
 * Finds (and installs, once) a tool that a suite needs. Await it at the top level of a test file. Where it cannot be had it says so on
 * stderr, because a suite must not vanish silently.
 *
 * @param suite what is skipped without it, for the message
 * @param install gives the path of the tool
 * @throws ToolError under `CERTMARSHAL_REQUIRE_REAL=1` instead of reporting it missing
 */
export async function tool(
  suite: string,
  install: () => Promise<string>,
): Promise<{ readonly path: string; readonly missing: string | undefined }> {
  try {
    return { path: await install(), missing: undefined };
  } catch (error) {
    if (!(error instanceof ToolError) || process.env['CERTMARSHAL_REQUIRE_REAL'] === '1') throw error;
    process.stderr.write(`\nSKIPPED: ${suite}\n  ${error.message}\n`);
    return { path: '', missing: error.message };
  }
}
