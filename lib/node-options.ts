/**
 * How Node.js runs in the functions. A sweep makes much garbage that lives for one page of a list; a small young generation lets it be collected before
 * it grows the process (docs/decisions/0005-judge-while-writing.md).
 */
export const NODE_OPTIONS = '--max-semi-space-size=8';
