import { type Profiler, Session } from 'node:inspector';

/**
 * How often functions of ours and of Node.js are called, as V8 counts it: work that is the same however busy the machine is. What a
 * single call does in C++ is not counted. V8 gives up what it has optimized: much work is counted at once, not piece by piece.
 *
 * @param run synchronous
 * @param which tested against file and name: `lambdas/x509/der.ts enter`, `node:internal/crypto/hash hash`
 */
export function functionCalls(run: () => unknown, which = /^/): number {
  const session = new Session();
  session.connect();
  try {
    session.post('Profiler.enable');
    session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    run();
    return counted(session, which);
  } finally {
    session.disconnect();
  }
}

/** The inspector of its own thread answers before `post` returns. */
function counted(session: Session, which: RegExp): number {
  let scripts: readonly Profiler.ScriptCoverage[] = [];
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error !== null) throw error;
    scripts = result;
  });
  let calls = 0;
  for (const { url, functions } of scripts) {
    const file = /(?:lambdas\/.*|^node:.*)$/.exec(url)?.[0];
    if (file === undefined || file.includes('inspector')) continue;
    for (const { functionName, ranges } of functions)
      if (which.test(`${file} ${functionName}`)) calls += ranges[0]?.count ?? 0;
  }
  return calls;
}
